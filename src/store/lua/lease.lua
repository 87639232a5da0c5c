-- Grants ahead: several tries of one lane at once, each charged for the moment at which it may go. Nothing else is charged
-- for these moments, so all together keep the limit as if each had asked at its own; what is not used by its moment is
-- gone with it. Buckets alone can tell their moments.

-- Those who ask for such, I among them, have equal parts of what flows as far as the farthest of them reaches: how many
-- are mine, and how far that is.
local function fair_part(s, most, reach)
  local sharers, farthest = { { who = me, at = now, reach = reach } }, reach
  for _, other in ipairs(s.sharers) do
    if other.who ~= me then
      sharers[#sharers + 1] = other
      farthest = max(farthest, other.reach)
    end
  end
  s.sharers = sharers
  if #sharers > 1 then
    most = min(most, max(floor(farthest * s.rule.c / s.rule.p / #sharers), 1))
  end
  return most, farthest
end

local function grants_ahead(parts, from, lane, most, reach)
  local farthest = reach
  for place = 1, #parts, PART do
    local far
    most, far = fair_part(state(parts[place]), most, reach)
    farthest = max(farthest, far)
  end
  local first, moments, at = {}, {}, from
  while #moments < most and not stopped[lane] do
    for place = 1, #parts, PART do
      local s = state(parts[place])
      at = max(at, s.kind.due(s, at, parts[place + 1]))
    end
    local goes = at <= now + farthest
    for place = 1, #parts, PART do
      goes = goes and not delays(state(parts[place]), at, parts[place + 1])
    end
    if not goes then
      break
    end
    for place = 1, #parts, PART do
      local s, cost = state(parts[place]), parts[place + 1]
      local mark = s.kind.take(s, at, cost)
      first[place] = first[place] or mark
      s.dirty = true
      uses(s, cost)
    end
    moments[#moments + 1] = at
  end
  if #moments == 0 then
    waits_for(parts, from, lane, { most = most, reach = farthest })
    return
  end
  say('*')
  say(digits(#moments))
  say(digits(now - moments[1]))
  for place = 1, #parts, PART do
    steps_out(state(parts[place]), NEVER)
    say(digits(first[place]))
  end
  for _, moment in ipairs(moments) do
    say(digits(moment - moments[1]))
  end
end
