-- Slots that are held: members `number:cost`, scored by the moment at which they end unless they are renewed, so that a
-- process that was killed gives its own back.

local slots = { log = true, lumps = false }
kinds.slots = slots

local function cost_of(member)
  return tonumber(string.match(member, ':(%d+)$'))
end

local function count_anew(s)
  local total, held = 0, redis.call('ZRANGE', s.log, 0, -1)
  for _, member in ipairs(held) do
    total = total + cost_of(member)
  end
  s.v.total, s.v.entries = total, #held
end

function slots.load(s)
  if not s.v then
    s.v = { n = now, total = 0, entries = 0, freed = 0 }
  end
  if redis.call('ZREMRANGEBYSCORE', s.log, '-inf', digits(now)) > 0 then
    count_anew(s)
    s.v.freed = now
  elseif redis.call('ZCARD', s.log) ~= s.v.entries then
    count_anew(s)
  end
  if s.v.freed > now then
    s.v.freed = now
  end
end

function slots.due(s, from, total)
  if total <= s.rule.count - s.v.total then
    return max(from, s.v.freed)
  end
  return NEVER
end

local function hold(s, mark, cost)
  local member = digits(mark) .. ':' .. digits(cost)
  if redis.call('ZADD', s.log, digits(now + s.rule.ttl), member) == 1 then
    s.v.total, s.v.entries = s.v.total + cost, s.v.entries + 1
  end
end

function slots.take(s, _, cost)
  s.v.n = s.v.n + 1
  hold(s, s.v.n, cost)
  return s.v.n
end

-- One that has ended meanwhile begins again: its try is in flight whatever others were granted.
slots.renew = hold

-- One given back while others are free holds nobody, and must not pull the pace of a bucket to its own moment.
function slots.settle(s, mark, cost, at)
  local member = digits(mark) .. ':' .. digits(cost)
  if redis.call('ZREM', s.log, member) == 1 then
    if s.v.total >= s.rule.count then
      s.v.freed = max(s.v.freed, at)
    end
    s.v.total, s.v.entries = s.v.total - cost, s.v.entries - 1
  end
end

function slots.fresh(s)
  if s.v.entries == 0 then
    return s.v.freed
  end
  return now + s.rule.ttl
end
