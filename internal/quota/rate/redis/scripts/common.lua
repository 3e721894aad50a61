-- What every script of the rate keeper shares: how the meter of an upstream is
-- written down, and its arithmetic. It follows rate.Meter (meter.go) rule by
-- rule; the reasons are told there.
--
-- All that is known about one upstream is one string of doubles, so that it
-- vanishes as a whole or not at all. Beyond rate.Meter it has
--   epoch    a number for as long as this state lives; another state has another
--   granted  how many calls were granted, counted on from the epoch
--   clock    the server's clock when somebody asked last
--
-- The clock of the server may be set. Time that has passed is therefore told by
-- those who ask, as what passed at least since this state told them its own
-- time; the server's clock is believed only for those whom this state has not
-- told it yet. If it is set forward just then, up to one burst more is granted.
-- The days are told by the server's clock.
--
-- The first arguments are the same for all scripts:
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  what the caller knows, three doubles: the epoch, the state's time by
--          now, and how many calls were granted; zeros if nothing
-- ARGV[3]  the limits: rate, rate of LOW, burst, burst of LOW, reserve, guard,
--          daily, daily reserve, chunk
-- Times are microseconds; calls in buckets are in millionths.

local MICRO, SECOND = 1000000, 1000000
local REFUND_GRACE = 600 * SECOND
local SAVE_GAP, SAVE_POLL = SECOND, SECOND / 10
local LINE_PLACES = 32
local LIFE = '172800' -- two days, in seconds

local STATE, CALLER, LIMITS = '<dddddddddddddddddddd', '<ddd', '<ddddddddd'

local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil

local clock
if ARGV[1] ~= '' then
  clock = tonumber(ARGV[1])
else
  local t = redis.call('TIME')
  clock = t[1] * SECOND + t[2]
end
local caller_epoch, caller_now, caller_granted = struct.unpack(CALLER, ARGV[2])
local rate, low_rate, burst, low_burst, reserve, guard_burst, daily, daily_reserve, chunk =
  struct.unpack(LIMITS, ARGV[3])

local function read(text)
  local m = {}
  m.epoch, m.granted, m.clock, m.now, m.tokens, m.guard, m.low, m.hold, m.paused, m.high_line,
    m.low_line, m.day, m.day_began, m.used, m.used_low, m.ceiling, m.previous_day,
    m.previous_used, m.previous_low, m.save_at = struct.unpack(STATE, text)
  return m
end

local function write(m)
  redis.call('SET', KEYS[1], struct.pack(STATE, m.epoch, m.granted, m.clock, m.now, m.tokens,
    m.guard, m.low, m.hold, m.paused, m.high_line, m.low_line, m.day, m.day_began, m.used,
    m.used_low, m.ceiling, m.previous_day, m.previous_used, m.previous_low, m.save_at),
    'EX', LIFE)
end

local function refill(level, most, by, passed)
  if passed >= ceil(most / by) then
    return most
  end
  return min(most, level + passed * by)
end

local function advance(m)
  local now = m.now + max(clock - m.clock, 0)
  if caller_epoch == m.epoch then
    now = caller_now
  end
  m.clock = clock
  local passed = now - m.now
  if passed <= 0 then
    return
  end
  m.now = now
  m.tokens = refill(m.tokens, burst, rate, passed)
  m.guard = refill(m.guard, guard_burst, rate, passed)
  m.low = refill(m.low, low_burst, low_rate, passed)
end

-- went_back says that this is an older state than the caller has seen: one that
-- a server had that did not know of everything.
local function went_back(m)
  return caller_epoch == m.epoch and m.granted < caller_granted
end

-- known is nil if nothing is known that can be trusted.
local function known()
  local text = redis.call('GET', KEYS[1])
  if not text then
    return nil
  end
  local m = read(text)
  if went_back(m) then
    return nil
  end
  advance(m)
  return m
end
