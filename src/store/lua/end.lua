-- What a call leaves: its states, each as long as it differs from a new one; what was used and learnt; and its answer,
-- for a call that is repeated.

-- The record of one that has left is kept for so many milliseconds, in case it repeats that.
local LEFT = 5000

for _, s in pairs(states) do
  for _, list in ipairs(call.leave and { s.queue, s.sharers } or {}) do
    for place = #list, 1, -1 do
      if list[place].who == me then
        table.remove(list, place)
        s.dirty = true
      end
    end
  end
  if s.dirty then
    local until_fresh = kept_until(s.kind.fresh(s))
    local sharers = #s.sharers > 0 and s.sharers or nil
    redis.call('SET', s.key, cmsgpack.pack({ s.v, s.queue, sharers }), 'PX', until_fresh)
    if s.kind.log then
      redis.call('PEXPIRE', s.log, until_fresh)
    end
  end
end

if next(used) then
  local spans, span = usage()
  local last = spans[#spans]
  if not last or last[1] ~= span then
    last = { span, {} }
    for limit = 1, #limits do
      last[2][limit] = 0
    end
    spans[#spans + 1] = last
  end
  for limit, units in pairs(used) do
    last[2][limit] = last[2][limit] + units
  end
  redis.call('SET', USAGE, cmsgpack.pack(spans), 'PX', kept_until(now + SPAN * SPANS * 1000000))
end

-- Values of keys that were used last, for those who only look.
local values = {}
for _, s in pairs(states) do
  if s.dirty and s.rule.per ~= '' and s.kind ~= learnt and #values < 2 * VALUES then
    values[#values + 1] = digits(now)
    values[#values + 1] = s.key
  end
end
if #values > 0 then
  redis.call('ZADD', RECENT, unpack(values))
  redis.call('ZREMRANGEBYRANK', RECENT, 0, -VALUES - 1)
  redis.call('PEXPIRE', RECENT, kept_until(now + SPAN * SPANS * 1000000))
end

local taught = {}
for _, s in pairs(states) do
  if s.taught then
    taught[s.key] = { limit = s.limit, at = now, lore = s.kind.lore(s) }
  end
end
if next(taught) then
  local all = {}
  for _, one in ipairs(lores()) do
    if not taught[one.lore.key] then
      all[#all + 1] = one
    end
  end
  for _, one in pairs(taught) do
    all[#all + 1] = one
  end
  while #all > LANES do
    table.remove(all, 1)
  end
  redis.call('SET', LEARNT, cmsgpack.pack(all), 'PX', kept_until(now + learnt.KEPT))
end

if call.beat then
  beat()
end
if call.leave then
  redis.call('ZREM', MEMBERS, me)
  redis.call('SET', RECORD, cmsgpack.pack({ call = call.number, reply = 'left' }), 'PX', LEFT)
  return 'left'
end
local answer = 'done ' .. digits(redis.call('ZCARD', MEMBERS)) .. ' ' .. digits(now) .. ' ' .. digits(reach) .. ' ' .. table.concat(reply, ' ')
-- What others have taught, where this member does not know it yet.
local lore = {}
for _, known in ipairs(call.versions) do
  local s = states[known[1]]
  if s and s.v.version ~= 0 and s.v.version ~= known[2] then
    lore[#lore + 1] = s.kind.lore(s)
  end
end
if #lore > 0 then
  answer = answer .. '\n' .. cjson.encode(lore)
end
redis.call('SET', RECORD, cmsgpack.pack({ call = call.number, reply = answer, place = call.place, since = call.since,
  waiting = call.waiting }), 'PX', RECORDED)
return answer
