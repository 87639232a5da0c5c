-- The order of a call: join, or find what is repeated; then settle, move, pause and renew; then ask.

-- The run: its limits, and a mark that tells whether this is still the data base that was joined.
local function members()
  redis.call('ZREMRANGEBYSCORE', MEMBERS, '-inf', digits(now - AWAY))
  redis.call('ZREMRANGEBYSCORE', MEMBERS, '(' .. digits(now + AWAY), '+inf')
  return redis.call('ZCARD', MEMBERS)
end

local function beat()
  members()
  redis.call('ZADD', MEMBERS, digits(now), me)
  redis.call('PEXPIRE', MEMBERS, kept_until(now + AWAY))
  redis.call('PEXPIRE', RUN, kept_until(now + call.kept))
end

if call.join then
  local hash, text, mark = unpack(redis.call('HMGET', RUN, 'hash', 'text', 'mark'))
  if hash and hash ~= call.hash then
    redis.call('ZREM', MEMBERS, me)
    if members() > 0 then
      return 'other ' .. text
    end
    redis.call('DEL', RUN)
    hash = false
  end
  if not hash then
    mark = digits(now) .. '-' .. me
    redis.call('HSET', RUN, 'hash', call.hash, 'text', call.join.text, 'mark', mark, 'began', digits(now),
      'limits', call.join.limits)
  end
  beat()
  return 'joined ' .. mark .. ' ' .. digits(redis.call('ZCARD', MEMBERS))
end

local run = redis.call('HMGET', RUN, 'mark', 'limits', 'began')
if run[1] ~= call.mark then
  return 'emptied'
end
local limits = cjson.decode(run[2])
began = tonumber(run[3])

local record = redis.call('GET', RECORD)
if record then
  record = cmsgpack.unpack(record)
  if record.call == call.number then
    return record.reply
  end
end

-- States: each is read once, when it is first needed, and written once, at the end.
local states = {}
local function state(nth)
  local s = states[nth]
  if s then
    return s
  end
  local which = call.states[nth]
  local limit, place = which[1], FIRST_STATE + which[2]
  local rule = limits[limit + 1]
  s = { limit = limit, rule = rule, kind = kinds[rule.kind], key = KEYS[place], log = KEYS[place + 1] }
  local kept = redis.call('GET', s.key)
  local queue
  if kept then
    s.v, queue = unpack(cmsgpack.unpack(kept))
  end
  s.kind.load(s)
  s.queue = {}
  for _, waits in ipairs(queue or {}) do
    if now <= waits.at + waits.grace then
      s.queue[#s.queue + 1] = waits
    else
      s.dirty = true
    end
  end
  states[nth] = s
  return s
end

local used = {}
local function uses(s, units)
  used[s.limit + 1] = (used[s.limit + 1] or 0) + units
end

-- A moment that is so long ago.
local function ago(age)
  return now - age
end

for _, done in ipairs(call.settle) do
  local s, mark, cost, age, units = state(done[1]), done[2], done[3], done[4], done[5]
  if units < 0 then
    units = cost
  end
  s.kind.settle(s, mark, cost, ago(age), units)
  s.dirty = true
  if units ~= cost then
    uses(s, units - cost)
  end
end
for _, left in ipairs(call.moved) do
  local s = state(left[1])
  s.kind.moved(s, left[2], left[3], ago(left[4]))
  s.dirty = true
end
for _, lease in ipairs(call.renew) do
  local s = state(lease[1])
  s.kind.renew(s, lease[2], lease[3])
  s.dirty = true
end

-- Pauses: lanes, scored by the moment at which they end. The later of two stands.
for _, pause in ipairs(call.pauses) do
  local ends = now + pause[2]
  local stands = redis.call('ZSCORE', PAUSES, pause[1])
  if not stands or tonumber(stands) < ends then
    redis.call('ZADD', PAUSES, digits(ends), pause[1])
  end
end
if #call.pauses > 0 then
  redis.call('ZREMRANGEBYSCORE', PAUSES, '-inf', digits(now))
  local last = redis.call('ZREVRANGE', PAUSES, 0, 0, 'WITHSCORES')
  if #last > 0 then
    redis.call('PEXPIRE', PAUSES, kept_until(tonumber(last[2])))
  end
end
local paused = {}
if #call.asks > 0 then
  local all = redis.call('ZRANGEBYSCORE', PAUSES, '(' .. digits(now), '+inf', 'WITHSCORES')
  for place = 1, #all, 2 do
    paused[all[place]] = tonumber(all[place + 1])
  end
end
