-- One call of one member: what it settles, what it asks. Everything here happens at one instant, or has happened.
--
-- ARGV[1]: the call (call.rs). KEYS: the common ones, then those of its states in order; a log has two.
-- Moments and spans are microseconds, moments since the Unix epoch. Numbers are whole and below 2^53.

local floor, max, min, fmod = math.floor, math.max, math.min, math.fmod
local call = cjson.decode(ARGV[1])
local RUN, MEMBERS, RECORD, PAUSES, USAGE, LEARNT, RECENT = unpack(KEYS, 1, 7)
local FIRST_STATE = 8
local me = call.member

-- What stands in for a moment that nobody knows.
local NEVER = 2 ^ 53
-- A member that was not heard for so long is away.
local AWAY = 6000000
-- Who has asked for grants ahead is reckoned with for so much longer than it reaches.
local LINGERS = 100000
-- A record is kept for so long: a call that is repeated within it is not charged again.
local RECORDED = 60000
-- How much longer than it matters a key is kept, in milliseconds.
local MARGIN = 2000

local now = call.time
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- a / b, rounded up. `fmod` is exact where a division of doubles is not.
local function divided_up(a, b)
  local rest = fmod(a, b)
  local whole = (a - rest) / b
  if rest > 0 then
    whole = whole + 1
  end
  return whole
end

-- a * b / c, rounded down, for a <= c < 2^37 and b < 2^53: as on paper, fifteen bits at a time.
local function share(a, b, c)
  local digits = {}
  repeat
    local digit = fmod(b, 32768)
    digits[#digits + 1] = digit
    b = (b - digit) / 32768
  until b == 0
  local whole, rest = 0, 0
  for place = #digits, 1, -1 do
    local over = rest * 32768 + a * digits[place]
    rest = fmod(over, c)
    whole = whole * 32768 + (over - rest) / c
  end
  return whole
end

-- A whole number as text: `tostring` would round it to fourteen digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Milliseconds for a key that matters until then.
local function kept_until(moment)
  return digits(divided_up(max(moment - now, 0), 1000) + MARGIN)
end

-- The rules, one file each: `log` has a sorted set beside its state, `lumps` opens for many at once: that is
-- the `lump` of its states.
local kinds = {}
-- When the limits were first shared: what they held then has grown since.
local began
