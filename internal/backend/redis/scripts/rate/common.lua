-- What every script of the rate keeper shares: how the meter of an upstream is
-- written down, and its arithmetic. It follows rate.Meter (meter.go) rule by
-- rule; the reasons are told there.
--
-- All that is known about one upstream is one string of doubles, so that it
-- vanishes as a whole or not at all. Beyond rate.Meter it has
--   epoch    a number for as long as this state lives; another state has another
--   granted  how many calls were granted, counted on from the epoch
--   clock    the server's clock when somebody asked last
--   scale    a number for as long as nobody had to believe that clock
--   turns    how often its time went on
--   server   a number for as long as the server runs that wrote it
--
-- The clock of the server may be set. Who asks therefore tells how long ago the
-- state answered it last: a clock that ran as long since was not set. If it was,
-- or if nobody can say because the request took long, time is what passed for
-- the caller, as long as the state's time has the scale it had when it told it.
--
-- A newcomer, whom this state has not answered yet, cannot tell whether the
-- clock was set since anybody asked. It is granted nothing until somebody who
-- can has asked, or a second has passed: then all that was granted before is
-- older than that. The days are told by the server's clock.
--
-- The first arguments are the same for all scripts:
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  what the caller knows, nine doubles: the epoch, how many calls were
--          granted, what the state's time is at least; its scale and turns and
--          the server's clock when it answered last, how long ago that is when
--          this script runs, at least and at most, and 1 if the caller was a
--          newcomer then else 0; zeros if nothing
-- ARGV[3]  the limits: rate, rate of LOW, burst, burst of LOW, reserve, guard,
--          daily, daily reserve, chunk
-- Times are microseconds; calls in buckets are in millionths.

local MICRO, SECOND = 1000000, 1000000
local REFUND_GRACE = 600 * SECOND
local SAVE_GAP, SAVE_POLL = SECOND, SECOND / 10
local LINE_PLACES = 32
local LIFE = '172800' -- two days, in seconds

local STATE, CALLER, LIMITS = '<ddddddddddddddddddddddd', '<ddddddddd', '<ddddddddd'
local STATE_SIZE = 23 * 8

local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil

local clock
if ARGV[1] ~= '' then
  clock = tonumber(ARGV[1])
else
  local t = redis.call('TIME')
  clock = t[1] * SECOND + t[2]
end
local caller_epoch, caller_granted, caller_now, caller_scale, caller_turns, caller_clock, at_least,
  at_most, newcomer = struct.unpack(CALLER, ARGV[2])
local rate, low_rate, burst, low_burst, reserve, guard_burst, daily, daily_reserve, chunk =
  struct.unpack(LIMITS, ARGV[3])

-- read returns nil for what is not, or was written by another version.
local function read(text)
  if not text or #text ~= STATE_SIZE then
    return nil
  end
  local m = {}
  m.epoch, m.granted, m.clock, m.scale, m.turns, m.now, m.tokens, m.guard, m.low, m.hold,
    m.paused, m.high_line, m.low_line, m.day, m.day_began, m.used, m.used_low, m.ceiling, m.previous_day,
    m.previous_used, m.previous_low, m.save_at, m.server = struct.unpack(STATE, text)
  return m
end

local function write(m)
  redis.call('SET', KEYS[1], struct.pack(STATE, m.epoch, m.granted, m.clock, m.scale, m.turns, m.now,
    m.tokens, m.guard, m.low, m.hold, m.paused, m.high_line, m.low_line, m.day, m.day_began, m.used,
    m.used_low, m.ceiling, m.previous_day, m.previous_used, m.previous_low, m.save_at, m.server),
    'EX', LIFE)
end

local function refill(level, most, by, passed)
  if passed >= ceil(most / by) then
    return most
  end
  return min(most, level + passed * by)
end

-- clock_ran says that the clock was not set since the caller was answered. Both
-- are whole microseconds of two clocks.
local function clock_ran()
  local ran = clock - caller_clock
  return ran >= at_least - 1 and ran <= at_most + 1
end

-- vouched says that somebody who was no newcomer asked since this one was answered.
local function vouched(m)
  return m.turns > caller_turns
end

-- stranger_for is how long the caller stays a newcomer, and what it is told of
-- that: 0 it is none, 1 it goes on to be one, 2 it is one from now on.
local function stranger_for(m)
  if caller_epoch ~= m.epoch or (newcomer == 1 or caller_scale ~= m.scale) and not clock_ran() then
    return SECOND, 2
  elseif newcomer == 1 and not vouched(m) and at_least < SECOND then
    return SECOND - at_least, 1
  end
  return 0, 0
end

-- present is the state's time by the server's clock.
local function present(m)
  return m.now + max(clock - m.clock, 0)
end

local function advance(m)
  local passed = clock - m.clock
  if not clock_ran() then
    passed = caller_now - m.now
  elseif newcomer == 1 and not vouched(m) then
    m.scale, passed = m.scale + 1, max(passed, at_least)
  end
  m.clock, m.turns = clock, m.turns + 1
  if passed <= 0 then
    return
  end
  m.now = m.now + passed
  m.tokens = refill(m.tokens, burst, rate, passed)
  m.guard = refill(m.guard, guard_burst, rate, passed)
  m.low = refill(m.low, low_burst, low_rate, passed)
end

local server = tonumber(string.sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, 13), 16)

-- went_back says that this may be an older state than the last: one that another
-- server wrote, as this one was started from a snapshot or took over, or that is
-- older than the caller has seen.
local function went_back(m)
  return m.server ~= server or caller_epoch == m.epoch and m.granted < caller_granted
end

-- known is the state, or nil if nothing is known that can be trusted, and what
-- stranger_for says. For a newcomer no time passes.
local function known()
  local m = read(redis.call('GET', KEYS[1]))
  if not m or went_back(m) then
    return nil
  end
  local stranger, told = stranger_for(m)
  if stranger == 0 then
    advance(m)
  end
  return m, stranger, told
end
