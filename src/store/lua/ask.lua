-- Asks, oldest first, and who waits. The oldest that a state has refused is protected: whoever comes after it takes only
-- what leaves its moment as it was. Each member has one place in the line of a state, so they take turns.

-- A slot that is waited for is asked for again after so long.
local POLL = 10000
-- What holds an ask, where it is no limit.
local PAUSE = -1

-- A part of an ask is three numbers: which state, how much, how much more if it fits.
local PART = 3

-- How much this call asks for of each state.
local demand = {}
for _, ask in ipairs(call.asks) do
  local parts = ask[3]
  for place = 1, #parts, PART do
    demand[parts[place]] = (demand[parts[place]] or 0) + min(parts[place + 1], limits[call.states[parts[place]][1] + 1].most)
  end
end

-- Who stands before me: how much they take in all, the first and the last of them. Once refused, I stand before myself.
local function before_me(s)
  local total, first, last = 0, nil, nil
  for _, waits in ipairs(s.queue) do
    if waits.who == me and not s.refused then
      break
    end
    total = total + waits.units
    first, last = first or waits, waits
  end
  return total, first, last
end

local function my_place(s)
  for place, waits in ipairs(s.queue) do
    if waits.who == me then
      return place
    end
  end
  return nil
end

local function others_wait(s)
  return #s.queue > (my_place(s) and 1 or 0)
end

-- Whether one that waits would have to wait longer, if this much were taken before it, and so much by those before it.
local function delays_one(s, at, cost, waits, until_it)
  local after = s.kind.due(s, at, cost + until_it)
  if after <= now then
    return false
  end
  if s.rule.kind == 'slots' then
    return true
  end
  return after > waits.at and after > s.kind.due(s, at, until_it)
end

-- The first and the last stand for all who wait.
local function delays(s, at, cost)
  local total, first, last = before_me(s)
  if not first then
    return false
  end
  return delays_one(s, at, cost, first, first.units) or (last ~= first and delays_one(s, at, cost, last, total))
end

-- When others wait, one comes for more than one at a time: else each unit would be a call. It is what flows within the
-- slack, or a fair share of what opens at once.
local function turn(s, nth, need)
  if s.refused or s.rule.kind == 'slots' or not others_wait(s) then
    return need
  end
  local units = floor(s.rule.count * call.slack / s.rule.period)
  if s.lump then
    units = max(units, floor(s.lump / (#s.queue + 1)))
  end
  return max(need, min(demand[nth], units))
end

local reply = {}
local function say(text)
  reply[#reply + 1] = text
end

-- Lanes of which one has been refused: nobody passes within a lane.
local stopped = {}

local function refuse(by, wait)
  say('-')
  say(digits(by))
  say(digits(max(wait, 1)))
end

local function waits_for(parts, from, lane)
  local told, by, last_of = now, nil, nil
  local turns = {}
  for place = 1, #parts, PART do
    local nth = parts[place]
    local s = state(nth)
    local need = min(parts[place + 1], s.rule.most)
    local ahead, _, last = before_me(s)
    ahead = ahead + (s.behind or 0)
    if last and last.who == me then
      last = nil
    end
    local units = turn(s, nth, need)
    local at = s.kind.due(s, from, ahead + units)
    turns[place] = { units, at }
    if at == NEVER then
      at = now + POLL * (#s.queue + 1)
    end
    if at > told then
      told, by, last_of = at, s, last
    end
  end
  if stopped[lane] and stopped[lane] >= told then
    told = stopped[lane]
  end
  by = by or state(parts[1])
  for place = 1, #parts, PART do
    local s = state(parts[place])
    local units, at = unpack(turns[place])
    if s.refused then
      s.behind = s.behind + units
    elseif s.rule.kind ~= 'slots' or at > now then
      local waits = { who = me, units = units, at = told, grace = call.grace }
      s.queue[my_place(s) or #s.queue + 1] = waits
      s.refused, s.behind, s.dirty = true, 0, true
    end
  end
  stopped[lane] = told
  local wait = told - now
  -- If the one before does not come, its turn is free.
  if last_of then
    wait = min(wait, max(last_of.at + last_of.grace - now, 0) + 1000)
  end
  -- Something may be given back meanwhile.
  if by.rule.poll > 0 then
    wait = min(wait, by.rule.poll)
  end
  refuse(by.limit, wait)
end

local function takes(parts, at)
  -- How long ago it is charged for.
  say('+')
  say(digits(now - at))
  for place = 1, #parts, PART do
    local nth, cost, more = parts[place], parts[place + 1], parts[place + 2]
    local s = state(nth)
    if others_wait(s) then
      more = 0
    end
    local mark
    mark, more = s.kind.take(s, at, cost, more)
    s.dirty = true
    uses(s, cost + more)
    say(digits(mark))
    say(digits(more))
    local mine = not s.refused and my_place(s)
    if mine then
      local waits = s.queue[mine]
      waits.units = waits.units - min(cost, s.rule.most)
      if waits.units <= 0 then
        table.remove(s.queue, mine)
      end
    end
  end
end

for _, ask in ipairs(call.asks) do
  local lane, parts = call.lanes[ask[1]], ask[3]
  local from = now - min(ask[2], call.slack)
  local ends = paused[lane]
  if ends then
    refuse(PAUSE, ends - now)
    stopped[lane] = ends
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
