-- Sliding window as a log: members `number:cost`, scored by the moment from which they count. A cost above the count
-- stands in periods that follow: `number:cost:after`, so many periods later. What is on its way is scored with the last
-- moment at which it can leave; until then it counts as "now".

local window = { log = true, lumps = true }
kinds.window = window

-- So many entries are read at once.
local CHUNK = 64

local function read(member)
  local number, cost, after = string.match(member, '^(%d+):(%d+):?(%d*)$')
  return tonumber(number), tonumber(cost), tonumber(after) or 0
end

local function name(number, cost, after)
  if after == 0 then
    return digits(number) .. ':' .. digits(cost)
  end
  return digits(number) .. ':' .. digits(cost) .. ':' .. digits(after)
end

-- How a cost stands in the log: pairs of cost and after how many periods. Of whole parts only the last is kept, as
-- nothing else fits until it has left.
local function parts(rule, cost)
  if cost <= rule.count then
    return { { cost, 0 } }
  end
  local whole = divided_up(cost, rule.count) - 1
  return { { rule.count, whole - 1 }, { cost - whole * rule.count, whole } }
end

local function count_anew(s)
  local total, entries = 0, redis.call('ZRANGE', s.log, 0, -1)
  for _, member in ipairs(entries) do
    local _, cost = read(member)
    total = total + cost
  end
  s.v.total, s.v.entries = total, #entries
end

local function insert(s, number, cost, at)
  for _, part in ipairs(parts(s.rule, cost)) do
    local from = at + part[2] * s.rule.period
    if part[1] > 0 and from + s.rule.kept > now - call.slack then
      redis.call('ZADD', s.log, digits(from), name(number, part[1], part[2]))
      s.v.total, s.v.entries = s.v.total + part[1], s.v.entries + 1
    end
  end
  s.past, s.later = nil, nil
end

-- Strikes out what is left of a cost; the moment from which it counted, or nothing.
local function strike(s, number, cost)
  local at
  for _, part in ipairs(parts(s.rule, cost)) do
    local member = name(number, part[1], part[2])
    local score = redis.call('ZSCORE', s.log, member)
    if score then
      redis.call('ZREM', s.log, member)
      s.v.total, s.v.entries = s.v.total - part[1], s.v.entries - 1
      at = tonumber(score) - part[2] * s.rule.period
    end
  end
  s.past, s.later = nil, nil
  return at
end

function window.load(s)
  local v, rule = s.v, s.rule
  rule.kept = rule.period + rule.guard
  if not v then
    v = { last = 0, n = now, total = 0, entries = 0 }
    s.v = v
  end
  if v.last - now > rule.kept then
    v.last = now
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', s.log, digits(now), '+inf')) do
      redis.call('ZADD', s.log, 'XX', digits(now), member)
    end
  end
  local gone = digits(now - call.slack - rule.kept)
  local left = redis.call('ZRANGEBYSCORE', s.log, '-inf', gone)
  if #left > 0 then
    redis.call('ZREMRANGEBYSCORE', s.log, '-inf', gone)
    for _, member in ipairs(left) do
      local _, cost = read(member)
      v.total = v.total - cost
    end
    v.entries = v.entries - #left
  end
  -- Whatever somebody else has put in or taken out.
  if redis.call('ZCARD', s.log) ~= v.entries then
    count_anew(s)
  end
end

-- The nth entry that has left already, oldest first: its moment and cost.
local function past(s, nth)
  local seen = s.past
  if not seen then
    seen = { read = 0, all = false }
    s.past = seen
  end
  while nth > #seen and not seen.all do
    local chunk = redis.call('ZRANGE', s.log, seen.read, seen.read + CHUNK - 1, 'WITHSCORES')
    seen.read = seen.read + CHUNK
    seen.all = #chunk < 2 * CHUNK
    for place = 1, #chunk, 2 do
      local at = tonumber(chunk[place + 1])
      if at > now then
        seen.all = true
        break
      end
      local _, cost = read(chunk[place])
      seen[#seen + 1] = { at, cost }
    end
  end
  return seen[nth]
end

-- What is on its way, as if it had left at `from`, oldest first.
local function later(s, from)
  if not s.later then
    s.later = redis.call('ZRANGEBYSCORE', s.log, '(' .. digits(now), '+inf', 'WITHSCORES')
  end
  local flying = {}
  for place = 1, #s.later, 2 do
    local _, cost, after = read(s.later[place])
    local at = min(tonumber(s.later[place + 1]), from + after * s.rule.period)
    flying[#flying + 1] = { at, cost }
  end
  table.sort(flying, function(one, other)
    return one[1] < other[1]
  end)
  return flying
end

function window.due(s, from, total)
  local v, rule = s.v, s.rule
  from = max(from, v.last)
  local rounds = divided_up(total, rule.count) - 1
  local room = rule.count - (total - rounds * rule.count)
  local inside, at = v.total, from
  local nth, flown, flying = 1, 1, nil
  while inside > room do
    local entry = past(s, nth)
    local other
    if not entry or entry[1] > from then
      flying = flying or later(s, from)
      other = flying[flown]
    end
    if other and (not entry or other[1] < entry[1]) then
      entry, flown = other, flown + 1
    elseif entry then
      nth = nth + 1
    else
      break
    end
    at, inside = max(at, entry[1] + rule.kept), inside - entry[2]
  end
  return at + rounds * rule.kept
end

function window.take(s, at, cost)
  local v = s.v
  v.n = v.n + 1
  v.last = max(v.last, at)
  insert(s, v.n, cost, now + s.rule.hold)
  return v.n
end

-- When it left is known, and counts: also where that was later than was thought, and it is not in the log any more.
function window.moved(s, mark, cost, at)
  strike(s, mark, cost)
  insert(s, mark, cost, at)
end

-- What has left the window stays as it was. What was never seen to leave has left by now.
function window.settle(s, mark, cost, at, used)
  local from = strike(s, mark, cost)
  if from and used > 0 then
    from = min(from, at)
    if cost > s.rule.count then
      used = min(used, cost)
      insert(s, mark, used, from)
    else
      redis.call('ZADD', s.log, digits(from), name(mark, used, 0))
      s.v.total, s.v.entries = s.v.total + used, s.v.entries + 1
    end
  end
end

function window.owe(s, cost, at)
  s.v.n = s.v.n + 1
  insert(s, s.v.n, cost, at)
end

function window.fresh(s)
  local last = redis.call('ZREVRANGE', s.log, 0, 0, 'WITHSCORES')
  if #last == 0 then
    return s.v.last
  end
  return max(tonumber(last[2]) + s.rule.kept, s.v.last)
end
