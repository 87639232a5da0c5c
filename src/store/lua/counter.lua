-- Sliding counter over two windows side by side, counted from the Unix epoch: what the previous one holds weighs as
-- much of it as is still inside.

local counter = { log = false, lumps = false }
kinds.counter = counter

-- The windows so many after `v`; at least one.
local function onward(rule, v, windows)
  local function nth(window)
    return max(v.carried - window * rule.count, 0)
  end
  local current = min(nth(windows - 1), rule.count)
  local previous = v.current
  if windows > 1 then
    previous = min(nth(windows - 2), rule.count)
  end
  return {
    began = v.began + windows * rule.period,
    previous = previous,
    current = current,
    carried = nth(windows - 1) - current,
    last = v.last,
  }
end

local function pair_at(s, at)
  local since = at - s.v.began
  if since < s.rule.period then
    return s.v
  end
  return onward(s.rule, s.v, floor(since / s.rule.period))
end

-- The first moment of a pair, as time since its start, at which a cost fits; nothing if it does not.
local function fits_in(rule, pair, cost)
  local room = rule.count - pair.current - cost
  if room < 0 then
    return nil
  end
  if pair.previous <= room then
    return 0
  end
  local inside = share(room, rule.period, pair.previous)
  if inside > 0 then
    return rule.period - inside
  end
  return nil
end

function counter.load(s)
  local rule = s.rule
  -- A take may be charged for so long ago.
  local aligned = floor((now - call.slack) / rule.period) * rule.period
  if not s.v then
    s.v = { began = aligned, previous = 0, current = 0, carried = 0, last = 0 }
  end
  if s.v.last - now > 2 * rule.period then
    s.v.began, s.v.last = aligned, now
  end
end

function counter.due(s, from, total)
  local rule = s.rule
  from = max(from, s.v.last)
  local rounds = divided_up(total, rule.count) - 1
  local cost = total - rounds * rule.count
  local pair = pair_at(s, from)
  local since = fits_in(rule, pair, cost)
  if not since then
    pair = onward(rule, pair, floor(pair.carried / rule.count) + 1)
    since = fits_in(rule, pair, cost)
    while not since do
      pair = onward(rule, pair, 1)
      since = fits_in(rule, pair, cost)
    end
  end
  return max(pair.began + since, from) + rounds * rule.period
end

function counter.take(s, at, cost)
  local v = pair_at(s, max(at, s.v.last))
  local fits = max(min(cost, s.rule.count - v.current), 0)
  v.current, v.carried = v.current + fits, v.carried + cost - fits
  v.last = max(at, s.v.last)
  s.v.began, s.v.previous, s.v.current = v.began, v.previous, v.current
  s.v.carried, s.v.last = v.carried, v.last
  return v.began
end

-- Only the windows that paid get anything back, as long as they count. The mark is when the first of them began.
function counter.settle(s, mark, cost, _, used)
  local v, rule = s.v, s.rule
  if mark > v.began then
    return
  end
  local passed = floor((v.began - mark) / rule.period)
  if used > cost then
    if passed == 0 then
      v.current = v.current + used - cost
    elseif passed == 1 then
      v.previous = v.previous + used - cost
    end
    return
  end
  local function standing(window)
    return max(cost - window * rule.count, 0)
  end
  local of_now, after = standing(passed), standing(passed + 1)
  local before = passed == 0 and of_now or standing(passed - 1)
  local back = cost - used
  local later, here, earlier = min(back, after), min(back, of_now), min(back, before)
  v.carried = max(v.carried - later, 0)
  v.current = max(v.current - (here - later), 0)
  v.previous = max(v.previous - (earlier - here), 0)
end

function counter.owe(s, cost, at)
  local v, rule = s.v, s.rule
  local pair = pair_at(s, now)
  v.began, v.previous, v.current, v.carried = pair.began, pair.previous, pair.current, pair.carried
  if at >= v.began then
    v.current = min(v.current + cost, rule.count)
  elseif at >= v.began - rule.period then
    v.previous = min(v.previous + cost, rule.count)
  end
end

function counter.fresh(s)
  local v = s.v
  local windows = 0
  if v.current > 0 then
    windows = 2 + divided_up(v.carried, s.rule.count)
  elseif v.previous > 0 then
    windows = 1
  end
  return max(v.began + windows * s.rule.period, v.last)
end
