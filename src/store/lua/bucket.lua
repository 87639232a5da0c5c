-- Bucket, and leaky as its twin: the level at `last`, in units times period. `c` flow in each microsecond, `p` levels
-- are one unit, `full` is the most.
--
-- What is given back counts as if it had never been taken: no more than what was missing at the fullest moment at which
-- something was taken later. `peaks` are those moments: number and level, numbers up, levels down.

local bucket = { log = false, lumps = false }
kinds.bucket = bucket

-- More peaks than this are thinned out: each that is left stands for itself and one before it.
local PEAKS = 256
-- A state that has been full for longer than this counts as full since then, so that numbers stay small.
local IDLE = 1000000

local function level_at(s, at)
  local v, rule = s.v, s.rule
  local missing = rule.full - v.level
  if missing <= 0 then
    return rule.full
  end
  local span = max(at - v.last, 0)
  if span >= divided_up(missing, rule.c) then
    return rule.full
  end
  return v.level + span * rule.c
end

local function push(v, level)
  v.n = v.n + 1
  local peaks = v.peaks
  while #peaks > 0 and peaks[#peaks][2] <= level do
    peaks[#peaks] = nil
  end
  peaks[#peaks + 1] = { v.n, level }
  if #peaks > PEAKS then
    local fewer = {}
    for place = 2, #peaks, 2 do
      fewer[#fewer + 1] = { peaks[place][1], peaks[place - 1][2] }
    end
    if #peaks % 2 == 1 then
      fewer[#fewer + 1] = peaks[#peaks]
    end
    v.peaks = fewer
  end
  return v.n
end

function bucket.load(s)
  local rule = s.rule
  local v = s.v
  if not v then
    v = { level = rule.start, last = min(began, now), n = now, first = now, peaks = {} }
    s.v = v
  end
  -- What was granted ahead has its moment later than it was granted.
  if v.last - now > divided_up(rule.full, rule.c) + (v.ahead or 0) then
    v.last = now
  end
  if now - v.last > IDLE and level_at(s, now - IDLE) >= rule.full then
    v.level, v.last = rule.full, now - IDLE
  end
end

function bucket.due(s, from, total)
  from = max(from, s.v.last)
  local missing = total * s.rule.p - level_at(s, from)
  if missing <= 0 then
    return from
  end
  return from + divided_up(missing, s.rule.c)
end

function bucket.take(s, at, cost)
  local v, rule = s.v, s.rule
  at = max(at, v.last)
  local level = level_at(s, at)
  local mark = push(v, level)
  v.level = level - cost * rule.p
  v.last, v.ahead = at, max(at - now, 0)
  return mark
end

local function give_back(v, rule, mark, back)
  if mark < v.first then
    return
  end
  local kept, later = {}, nil
  for _, peak in ipairs(v.peaks) do
    if peak[1] > mark then
      later = later or peak
    end
  end
  if later then
    back = min(back, rule.full - later[2])
  end
  if back <= 0 then
    return
  end
  local highest = later and later[2] + back
  for _, peak in ipairs(v.peaks) do
    if peak[1] > mark then
      kept[#kept + 1] = { peak[1], min(peak[2] + back, rule.full) }
    elseif not highest or peak[2] > highest then
      kept[#kept + 1] = peak
    end
  end
  v.peaks = kept
  v.level = min(v.level + back, rule.full)
end

-- The time of the state stays: pulled to now, it would cost the pace between two takes.
function bucket.settle(s, mark, cost, at, used)
  local v, rule = s.v, s.rule
  if used < cost then
    give_back(v, rule, mark, (cost - used) * rule.p)
  elseif used > cost then
    local level, debt = level_at(s, at), (used - cost) * rule.p
    local owed = min(debt, max(level + rule.full, 0))
    -- What is forgiven would have eaten what is given back later.
    push(v, owed < debt and rule.full or level)
    v.level = level - owed - max(at - v.last, 0) * rule.c
  end
end

function bucket.owe(s, cost, at)
  bucket.settle(s, s.v.n, 0, at, cost)
end

function bucket.fresh(s)
  return s.v.last + divided_up(max(s.rule.full - s.v.level, 0), s.rule.c)
end
