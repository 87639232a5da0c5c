-- Asks, oldest first: each is granted whole, at one instant, or waits.

local function takes(parts, at)
  -- How long ago it is charged for.
  say('+')
  say(digits(now - at))
  for place = 1, #parts, PART do
    local s, cost = state(parts[place]), parts[place + 1]
    local mark = s.kind.take(s, at, cost)
    s.dirty = true
    uses(s, cost)
    say(digits(mark))
    steps_out(s, min(cost, s.rule.most))
  end
end

for _, ask in ipairs(call.asks) do
  local lane, parts, most, reach = call.lanes[ask[1]], ask[3], ask[4], ask[5]
  local from = now - min(ask[2], call.slack)
  local ends = paused[lane]
  if ends then
    refuse(PAUSE, ends - now)
    stopped[lane] = ends
  elseif most then
    grants_ahead(parts, from, lane, most, reach)
  else
    local at = from
    for place = 1, #parts, PART do
      local s = state(parts[place])
      at = max(at, s.kind.due(s, from, min(parts[place + 1], s.rule.most)))
    end
    local goes = at <= now and not stopped[lane]
    for place = 1, #parts, PART do
      goes = goes and not delays(state(parts[place]), at, parts[place + 1])
    end
    if goes then
      takes(parts, at)
    else
      waits_for(parts, from, lane)
    end
  end
end
