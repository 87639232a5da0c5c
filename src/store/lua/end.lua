-- What a call leaves: its states, each as long as it differs from a new one; what was used; and its answer, for a call
-- that is repeated.

-- The record of one that has left is kept for so many milliseconds, in case it repeats that.
local LEFT = 5000

for _, s in pairs(states) do
  if call.leave then
    for place = #s.queue, 1, -1 do
      if s.queue[place].who == me then
        table.remove(s.queue, place)
        s.dirty = true
      end
    end
  end
  if s.dirty then
    local until_fresh = kept_until(s.kind.fresh(s))
    redis.call('SET', s.key, cmsgpack.pack({ s.v, s.queue }), 'PX', until_fresh)
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

if call.beat then
  beat()
end
if call.leave then
  redis.call('ZREM', MEMBERS, me)
  redis.call('SET', RECORD, cmsgpack.pack({ call = call.number, reply = 'left' }), 'PX', LEFT)
  return 'left'
end
local answer = 'done ' .. digits(redis.call('ZCARD', MEMBERS)) .. ' ' .. digits(now) .. ' ' .. table.concat(reply, ' ')
redis.call('SET', RECORD, cmsgpack.pack({ call = call.number, reply = answer, place = call.place, since = call.since,
  waiting = call.waiting }), 'PX', RECORDED)
return answer
