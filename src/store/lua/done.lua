-- What has happened since the last call: what was settled, what has left, slots that are held on, what was
-- learnt, pauses.

local used = {}
local function uses(s, units)
  used[s.limit + 1] = (used[s.limit + 1] or 0) + units
end

-- A moment that is so long ago.
local function ago(age)
  return now - age
end

-- What left may be settled in the same call.
for _, left in ipairs(call.moved) do
  local s = state(left[1])
  s.kind.moved(s, left[2], left[3], ago(left[4]))
  s.dirty = true
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
-- What was taken while nobody could be asked.
for _, owed in ipairs(call.owed) do
  local s, cost = state(owed[1]), owed[2]
  s.kind.owe(s, cost, ago(owed[3]))
  s.dirty = true
  uses(s, cost)
end
for _, held in ipairs(call.renew) do
  local s = state(held[1])
  s.kind.renew(s, held[2], held[3])
  s.dirty = true
end
for _, lesson in ipairs(call.learn) do
  local s = state(lesson.state)
  s.kind.teaches(s, lesson, ago(lesson.age))
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
