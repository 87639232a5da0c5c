-- The line of a state: who waits, in which order. The oldest that a state has refused is protected: whoever comes after it
-- takes only what leaves its moment as it was. Each member has one place in the line of a state, so they take turns.

-- A slot that is waited for is asked for again after so long.
local POLL = 10000
-- Who waits for what is granted ahead asks again after no less.
local PAUSE_AHEAD = 1000
-- What holds an ask, where it is no limit.
local PAUSE = -1

-- A part of an ask is two numbers: which state, how much.
local PART = 2

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

-- Refused, it stands in line. `lease` is what it asks for ahead, if it does: how many, and how far.
local function waits_for(parts, from, lane, lease)
  local told, by, last_of = now, nil, nil
  local turns = {}
  local early = lease and lease.reach or 0
  for place = 1, #parts, PART do
    local nth = parts[place]
    local s = state(nth)
    local need = min(parts[place + 1], s.rule.most)
    local ahead, _, last = before_me(s)
    ahead = ahead + (s.behind or 0)
    if last and last.who == me then
      last = nil
    end
    local units = lease and lease.most or turn(s, nth, need)
    local at = s.kind.due(s, from, ahead + (lease and need or units))
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
      local waits = { who = me, units = units, at = told, early = early, grace = call.grace }
      s.queue[my_place(s) or #s.queue + 1] = waits
      s.refused, s.behind, s.dirty = true, 0, true
    end
  end
  stopped[lane] = told
  local wait = told - early - now
  -- If the one before does not come, its turn is free.
  if last_of then
    wait = min(wait, max(comes_by(last_of) - now, 0) + 1000)
  end
  -- Something may be given back meanwhile.
  if by.rule.poll > 0 then
    wait = min(wait, by.rule.poll)
  end
  if lease then
    wait = max(wait, PAUSE_AHEAD)
  end
  refuse(by.limit, wait)
end

-- Whoever is granted something gives up its place for as much.
local function steps_out(s, units)
  local mine = not s.refused and my_place(s)
  if mine then
    local waits = s.queue[mine]
    waits.units = waits.units - units
    if waits.units <= 0 then
      table.remove(s.queue, mine)
    end
  end
end
