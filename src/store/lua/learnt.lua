-- What is learnt of a server's own limit, of one lane: what its headers tell, and a pace that is searched where it
-- refuses. The rules are those of `limit/adaptive.rs` and `limit/pace.rs`, with the answers of all members as one.
--
-- What is taken is counted up: a mark is that count, and an answer knows of as much. Paces are millionths of a unit per
-- second.

--
-- What is learnt is forgotten after so long without a send, and what nobody has learnt anything of after a minute.
local learnt = { log = false, lumps = false, KEPT = 600000000 }
kinds.learnt = learnt

do
  -- Millionths in microseconds.
  local SCALE = 1000000000000
  local SLOWEST = 16666
  local FASTEST = 2 ^ 52
  local SECOND = 1000000
  -- A limit of a longer period is not paced.
  local PACED = 60 * SECOND
  local NOTHING_LEARNT = 60 * SECOND
  -- Resets are told in whole seconds, rounded up.
  local SHORT = 2 * SECOND
  -- A step up takes so long, and so many accepted requests.
  local STEP, STEP_ACCEPTED = SECOND, 10
  -- What goes later than its pace has it is made up for, as far as this.
  local MADE_UP = 50000
  -- More names of limits than this no server has.
  local NAMES = 32

  local function divided(a, b)
    return (a - fmod(a, b)) / b
  end

  local function pace_of(count, span)
    return min(max(divided(count * SCALE, max(span, 1)), SLOWEST), FASTEST)
  end

  local function percent(pace, hundredths)
    return min(max(divided(pace * hundredths, 100), SLOWEST), FASTEST)
  end

  local function gap(pace, units)
    return divided_up(units * SCALE, pace)
  end

  local function keep(v, pace)
    v.pace = v.most and min(v.most, pace) or pace
  end

  -- Whatever was granted before tells nothing of this pace.
  local function begin(v, at, pace)
    v.doubled, v.beyond = false, 0
    v.since, v.before, v.accepted = at, v.taken, 0
    v.step_since, v.step_accepted = at, 0
    keep(v, pace)
  end

  -- What was accepted since the cycle began, and what may be at most. The rest after it belongs to it, unless that is
  -- short beside it.
  local function measured(v, at, ends)
    if v.accepted == 0 then
      return nil
    end
    local span, rest = max(at - v.since, 0), max(ends - at, 0)
    local mostly_rest = span < rest * 2
    local pace = pace_of(v.accepted, mostly_rest and span + rest or span)
    return pace, percent(pace, mostly_rest and 200 or 110)
  end

  local function is_news(s)
    s.v.version = max(s.v.version + 1, now)
    s.taught = true
  end

  local function step_up(v, pace, refused)
    local least = divided(pace, 100)
    if pace < refused then
      return pace + max(divided(refused - pace, 8), least)
    end
    v.beyond = v.beyond + 1
    return pace + min(least * 2 ^ min(v.beyond, 4), divided(pace, 8))
  end

  local function accepted(s, at)
    local v, pace = s.v, s.v.pace
    v.accepted = v.accepted + 1
    if v.word_at then
      v.word_accepted = v.word_accepted + 1
    end
    v.step_accepted = v.step_accepted + 1
    if not pace then
      return
    end
    local refused, span = v.refused or pace, max(at - v.step_since, 0)
    local nxt = pace
    if pace < percent(refused, 25) then
      v.doubled = true
      nxt = percent(pace, 200)
    elseif span >= STEP and v.step_accepted >= STEP_ACCEPTED then
      -- A pace that is not used is not tried.
      local used = pace_of(v.step_accepted, span) >= percent(pace, 50)
      v.step_since, v.step_accepted = at, 0
      if used then
        nxt = step_up(v, pace, refused)
      end
    end
    keep(v, max(nxt, pace))
    if v.pace ~= pace then
      is_news(s)
    end
  end

  local function refused(s, at, back)
    local v = s.v
    local ends = max(back or at, at)
    local pace, most = measured(v, at, ends)
    local nxt, too_much
    if not v.pace then
      if not pace then
        return
      end
      if not back then
        -- How long it takes nothing is not known yet.
        too_much = pace_of(v.accepted, max(at - v.since, 0))
        nxt = percent(too_much, 50)
      end
    elseif not pace then
      nxt, too_much = percent(v.pace, 50), v.refused
    elseif v.doubled then
      nxt, too_much = percent(v.pace, 50), v.pace
    elseif v.accepted < STEP_ACCEPTED and not back then
      -- Too few to tell what it takes, and enough to tell that it takes some.
      nxt, too_much = percent(v.pace, 70), v.refused
    end
    if not nxt then
      local before = v.pace or most
      nxt, too_much = percent(min(pace, before), 95), min(most, before)
    end
    v.refused = too_much
    v.word_at = v.word_at or at
    begin(v, ends, nxt)
    v.refusals = v.refusals + 1
    is_news(s)
  end

  -- The server says at `at` that all is used up until then.
  local function used_up(s, at, ends, limit)
    local v = s.v
    if not v.since or at < v.since or ends <= at then
      return
    end
    local pace, most = measured(v, at, ends)
    if not pace then
      return
    end
    v.word_at = v.word_at or at
    local wait = ends - at
    if wait <= SHORT then
      -- The next ones come all at once: less than that it does not take.
      if limit then
        pace = max(pace, pace_of(limit, wait))
      end
      most = max(most, pace)
      v.refused = v.pace and min(v.pace, most) or most
      begin(v, ends, percent(pace, 90))
    else
      v.since, v.before, v.accepted = ends, v.taken, 0
    end
    v.used_up = v.used_up + 1
    is_news(s)
  end

  -- Answers overtake each other: what a later request was told holds. Whether another limit is told than before.
  local function hold(v, told)
    for place, before in ipairs(v.told) do
      if before.name == told.name then
        if told.heard >= before.heard then
          v.told[place] = told
        end
        return before.limit ~= told.limit or before.period ~= told.period
      end
    end
    if #v.told == NAMES then
      table.remove(v.told, 1)
    end
    v.told[#v.told + 1] = told
    return true
  end

  local function hear(s, at, said)
    local v = s.v
    local told = { name = said.name, at = at, limit = said.limit, period = said.period, left = said.left,
      full_at = said.full and at + said.full, refills = said.refills, heard = v.heard, out = v.taken - v.heard }
    if hold(v, told) and said.limit then
      is_news(s)
    end
    local most
    for _, one in ipairs(v.told) do
      if one.limit and one.period and one.period <= PACED then
        local pace = pace_of(one.limit, one.period)
        most = most and min(most, pace) or pace
      end
    end
    if most and not said.left then
      -- All of it at the very edge is one too many in every window.
      most = percent(most, 99)
    end
    if most then
      v.most = most
      if v.pace then
        keep(v, v.pace)
      elseif not said.left then
        v.refused, v.word_at = most, v.word_at or at
        begin(v, at, most)
        is_news(s)
      end
    end
    if said.left == 0 and not said.refills and told.full_at then
      used_up(s, at, told.full_at, said.limit)
    end
  end

  -- Until when what was told holds: one period of it after its reset, as far as that is known.
  local function ends(told)
    return told.full_at + (told.period or max(told.full_at - told.at, SECOND))
  end

  -- From when on so many fit.
  local function opens(told, from, total)
    local need = told.out + total
    if not told.left or not told.full_at or need <= told.left or from >= ends(told) then
      return from
    end
    local limit = told.limit or NEVER
    if told.refills and limit > told.left and need <= limit then
      local span = max(told.full_at - told.at, 0)
      return max(told.at + divided_up((need - told.left) * span, limit - told.left), from)
    end
    if need <= limit or told.out == 0 then
      return max(told.full_at, from)
    end
    return max(ends(told), from)
  end

  function learnt.load(s)
    local v = s.v
    if not v then
      v = { taken = now, first = now, heard = now, last = 0, next = 0, before = now, accepted = 0, word_accepted = 0,
        doubled = false, beyond = 0, step_since = 0, step_accepted = 0, refusals = 0, used_up = 0, version = 0, told = {} }
      s.v = v
    end
    -- A clock that was set back.
    if v.last - now > learnt.KEPT then
      v.last, v.next = now, now
    end
    local rule = {}
    for name, value in pairs(s.rule) do
      rule[name] = value
    end
    rule.count, rule.period = v.pace or 0, SCALE
    s.rule = rule
    for _, told in ipairs(v.told) do
      s.lump = told.limit and min(s.lump or NEVER, told.limit) or s.lump
    end
  end

  -- One cost, however large, goes at the next moment of the pace: only of requests is it known how many come before.
  function learnt.due(s, from, total)
    local v = s.v
    from = max(from, v.last, v.next)
    if v.pace and total > 1 and s.rule.counts == 'requests' then
      from = from + gap(v.pace, total - 1)
    end
    local at = from
    for _, told in ipairs(v.told) do
      at = max(at, opens(told, from, total))
    end
    return at
  end

  local function count(v, units)
    v.taken = v.taken + units
    for _, told in ipairs(v.told) do
      told.out = told.out + units
    end
  end

  function learnt.take(s, at, cost)
    local v = s.v
    at = max(at, v.last)
    if not v.since then
      v.since, v.before = at, v.taken
    end
    if v.pace then
      v.next = max(v.next, at - MADE_UP) + gap(v.pace, cost)
    end
    v.last = at
    count(v, cost)
    if at < v.since then
      v.before = v.taken
    end
    return v.taken
  end

  -- What was never sent is there again.
  function learnt.settle(s, mark, cost, _, used)
    if used > 0 then
      return
    end
    for _, told in ipairs(s.v.told) do
      if told.heard < mark then
        told.out = max(told.out - cost, 0)
      end
    end
  end

  function learnt.owe(s, cost, at)
    local v = s.v
    v.last = max(v.last, at)
    if v.pace then
      v.next = max(v.next, at + gap(v.pace, cost))
    end
    count(v, cost)
    v.before = v.taken
  end

  function learnt.teaches(s, lesson, at)
    local v = s.v
    -- A mark of a state that has ended meanwhile tells only that it is old.
    local mark = lesson.mark and lesson.mark >= v.first and lesson.mark or nil
    if mark then
      v.heard = mark
    end
    if lesson.word == 'told' then
      hear(s, at, lesson.said)
    elseif mark and v.since and mark > v.before then
      if lesson.word == 'accepted' then
        accepted(s, at)
      else
        refused(s, at, lesson.back and at + lesson.back)
      end
    end
  end

  function learnt.fresh(s)
    local v = s.v
    local until_then = now + (v.version == 0 and NOTHING_LEARNT or learnt.KEPT)
    for _, told in ipairs(v.told) do
      until_then = max(until_then, told.full_at and ends(told) or 0)
    end
    return until_then
  end

  local function text(number)
    return number and digits(number)
  end

  -- For those who learn with it.
  function learnt.lore(s)
    local v = s.v
    local span = v.word_at and now - v.word_at or 0
    local mean = v.word_accepted >= STEP_ACCEPTED and span >= STEP and pace_of(v.word_accepted, span)
    local lore = { key = s.key, version = digits(v.version), pace = text(v.pace), mean = mean and digits(mean) or nil,
      refused = v.refusals, used_up = v.used_up }
    for nth, told in ipairs(v.told) do
      lore.told = lore.told or {}
      lore.told[nth] = { name = told.name, limit = text(told.limit), period = text(told.period),
        left = told.left and digits(max(told.left - told.out, 0)) or nil,
        full = told.full_at and digits(max(told.full_at - now, 0)) or nil, refills = told.refills }
    end
    return lore
  end
end
