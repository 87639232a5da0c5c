-- The order of a call: join, or find what is repeated, or only look; then what is done; then asks.

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
      'limits', call.join.limits, 'texts', call.join.texts, 'stems', call.join.stems)
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

local record = not call.look and redis.call('GET', RECORD)
if record then
  record = cmsgpack.unpack(record)
  if record.call == call.number then
    return record.reply
  end
  -- It was on its way by a connection that was given up, was sent again by another, and is done.
  if record.call > call.number then
    return 'late'
  end
end

-- When one that waits has come, if it does. One that asks ahead comes before its moment.
local function comes_by(waits)
  return waits.at - (waits.early or 0) + waits.grace
end

-- How far what is granted ahead to others reaches, as far as this call sees.
local reach = 0

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
  s.lump = s.kind.lumps and rule.count or nil
  local kept = redis.call('GET', s.key)
  local queue, sharers
  if kept then
    s.v, queue, sharers = unpack(cmsgpack.unpack(kept))
  end
  s.kind.load(s)
  s.queue = {}
  for _, waits in ipairs(queue or {}) do
    if now <= comes_by(waits) then
      s.queue[#s.queue + 1] = waits
    else
      s.dirty = true
    end
  end
  s.sharers = {}
  for _, other in ipairs(sharers or {}) do
    if other.at <= now and now <= other.at + other.reach + LINGERS then
      s.sharers[#s.sharers + 1] = other
      if other.who ~= me then
        reach = max(reach, other.reach)
      end
    end
  end
  states[nth] = s
  return s
end
