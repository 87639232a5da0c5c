-- For those who only look: who is there, what of each limit fits now, who waits, what was used, what was learnt.

-- Use is told for the last minute, in spans of so many seconds.
local SPAN = 5
local SPANS = 12

-- The spans that are still told, oldest first: number, and for each limit what was used.
local function usage()
  local span = floor(now / (SPAN * 1000000))
  local kept = redis.call('GET', USAGE)
  local spans = {}
  for _, one in ipairs(kept and cmsgpack.unpack(kept) or {}) do
    if span - one[1] < SPANS and one[1] <= span then
      spans[#spans + 1] = one
    end
  end
  return spans, span
end

-- What was learnt last is told of so many lanes, what is left of a limit of so many values of its key.
local LANES = 16
local VALUES = 16

-- The same as it was told last, oldest first.
local function lores()
  local kept = redis.call('GET', LEARNT)
  local recent = {}
  for _, one in ipairs(kept and cmsgpack.unpack(kept) or {}) do
    if now - one.at < learnt.KEPT and one.at <= now then
      recent[#recent + 1] = one
    end
  end
  return recent
end

if call.look then
  local seen = { members = {}, limits = {} }
  for nth, member in ipairs(call.look.members) do
    local heard = redis.call('ZSCORE', MEMBERS, member)
    local kept = redis.call('GET', KEYS[call.look.first + nth])
    if heard and kept and now - heard <= AWAY then
      local record = cmsgpack.unpack(kept)
      seen.members[#seen.members + 1] = { place = record.place, since = digits(record.since),
        heard = digits(max(now - heard, 0)), waiting = record.waiting }
    end
  end
  local spans, last = usage()
  for limit, rule in ipairs(limits) do
    local used = {}
    for back = 1, SPANS do
      used[back] = '0'
    end
    for _, span in ipairs(spans) do
      used[SPANS - (last - span[1])] = digits(span[2][limit])
    end
    seen.limits[limit] = { most = digits(rule.most), used = used }
  end
  for nth, which in ipairs(call.states) do
    local s = state(nth)
    local fits, beyond = 0, s.rule.most + 1
    while beyond - fits > 1 do
      local middle = floor((fits + beyond) / 2)
      if s.kind.due(s, now, middle) <= now then
        fits = middle
      else
        beyond = middle
      end
    end
    local limit = seen.limits[which[1] + 1]
    if s.rule.per == '' then
      limit.fits, limit.waiting = digits(fits), #s.queue
    else
      limit.values = limit.values or {}
      limit.values[#limit.values + 1] = { key = s.key, fits = digits(fits), waiting = #s.queue }
    end
  end
  for _, one in ipairs(lores()) do
    local limit = seen.limits[one.limit + 1]
    limit.learnt = limit.learnt or {}
    limit.learnt[#limit.learnt + 1] = one.lore
  end
  return cjson.encode(seen)
end
