-- Fixed window: counted from the Unix epoch, or begun by the first take, and anew by the first one at or after its end.
-- `open` is false before any take of a window that begins with it.

local fixed = { log = false, lumps = true }
kinds.fixed = fixed

local function open_at(s, at)
  local v, rule = s.v, s.rule
  if not v.open then
    return { began = at, level = 0, carried = 0 }
  end
  local since = at - v.began
  if since < rule.period then
    return { began = v.began, level = v.level, carried = v.carried }
  end
  local passed = floor(since / rule.period)
  local carried = max(v.carried - (passed - 1) * rule.count, 0)
  local start = v.began + passed * rule.period
  if rule.first and carried == 0 then
    start = at
  end
  local level = min(carried, rule.count)
  return { began = start, level = level, carried = carried - level }
end

function fixed.load(s)
  local rule = s.rule
  -- A take may be charged for so long ago.
  local aligned = floor((now - call.slack) / rule.period) * rule.period
  if not s.v then
    s.v = { open = not rule.first, began = aligned, level = 0, carried = 0, last = 0 }
  end
  if s.v.last - now > 2 * rule.period then
    s.v.began, s.v.last = rule.first and now or aligned, now
  end
end

function fixed.due(s, from, total)
  local rule = s.rule
  from = max(from, s.v.last)
  local open = open_at(s, from)
  local room = max(rule.count - open.level, 0)
  if total <= room then
    return from
  end
  local windows = divided_up(total - room + open.carried, rule.count)
  return max(open.began + windows * rule.period, from)
end

function fixed.take(s, at, cost)
  local v = s.v
  at = max(at, v.last)
  local open = open_at(s, at)
  local fits = max(min(cost, s.rule.count - open.level), 0)
  v.open, v.began, v.last = true, open.began, at
  v.level, v.carried = open.level + fits, open.carried + cost - fits
  return v.began
end

-- Only the windows that paid get anything back. The mark is when the first of them began.
function fixed.settle(s, mark, cost, _, used)
  local v, rule = s.v, s.rule
  if not v.open then
    return
  end
  local passed = floor(max(v.began - mark, 0) / rule.period)
  local standing = max(cost - passed * rule.count, 0)
  if standing == 0 or mark > v.began then
    return
  end
  if used > cost then
    v.level = v.level + used - cost
    return
  end
  local back = min(cost - used, standing)
  local later = min(back, v.carried)
  v.carried = v.carried - later
  v.level = max(v.level - (back - later), 0)
end

-- A window that begins with a take has begun with this one, unless another was open.
function fixed.owe(s, cost, at)
  local v, rule = s.v, s.rule
  if not v.open or (rule.first and v.carried == 0 and at >= v.began + rule.period) then
    v.open, v.began, v.level, v.carried = true, at, 0, 0
  end
  local open = open_at(s, now)
  if at >= open.began then
    v.began, v.carried = open.began, open.carried
    v.level = min(open.level + cost, rule.count)
  end
end

function fixed.fresh(s)
  local v = s.v
  if not v.open or (v.level == 0 and not s.rule.first) then
    return v.last
  end
  local full = divided_up(v.carried, s.rule.count)
  return max(v.began + (1 + full) * s.rule.period, v.last)
end
