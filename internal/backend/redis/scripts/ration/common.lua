-- What every script of the keeper of rations shares: how a group is written down,
-- its time, and the arithmetic of a count. It follows keeper.Count and keeper.Gate
-- (count.go, settle.go, bucket.go, gate.go of internal/ration/keeper) rule by rule; the
-- reasons are told there.
--
-- All that is known about one group is one hash, so that it vanishes as a whole or
-- not at all, and lies in one slot of a cluster:
--   m       the group itself (META)
--   c:NAME  a count (STATE), the terms it was counted by last (TERMS), its slots
--   g:NAME  a gate (GATE)
--   p:ID    a permit that is out: when it was granted, how many draws it has, their
--           prices, and the names of their counts
--
-- Time is the server's clock as far as it runs as time does: whoever asked before tells
-- what the group's time is by now, at least and at most. One whom the group has not
-- answered yet cannot tell; for it time stands still if the clock was set back.
--
-- Where a bucket paces calls nobody can afford to believe a clock. Such a newcomer is
-- granted nothing there until somebody who can tell has asked, or the period is over:
-- then all that was granted before is older than that. No time passes by its word until
-- then; if nobody vouched for it meanwhile, the group's time has another scale after it:
-- it may be late, and what others know of the time before says nothing any more.
--
-- The first arguments are the same for all scripts:
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  what the caller knows, eleven doubles: the group's epoch, its highest number
--          when it answered last, and what its time is by now, at least and at most; the
--          epoch is zero if nothing is known. Then the highest number that was stored
--          elsewhere when the caller met the group. Then the turns, the scale of the group and
--          the server's clock when it answered last, how long ago that is when this script
--          runs, at least and at most, and 1 if the caller was a newcomer then else 0
-- Times are microseconds.
--
-- What scripts answer begins with the HEAD: the group's epoch, number, time and turns,
-- the server's clock, whether the caller is a newcomer (0 it is none, 1 it goes on to be
-- one, 2 it is one from now on), and the scale.

local SECOND, SOON, LIFE, SLOTS = 1000000, 250000, 180000000, 64
local LONGEST_LEARNT = 745 * 3600 * SECOND
local LONGEST_PARK, FIRST_DELAY, LONGEST_DELAY = 7200 * SECOND, 60 * SECOND, 960 * SECOND
local KEEP = '259200' -- three days, in seconds: what takes longer is stored elsewhere
local FIXED, SLIDING, BUCKET, CONCURRENT = 0, 1, 2, 3
local PARKED, BACKOFF, TRIAL, SPENT, KEPT, BUSY = 2, 3, 4, 5, 6, 7

local MOST_FIELDS = 500 -- and as many values are written at once at most
local EXACT = 9007199254740992 -- doubles count by ones as far as that
local UNLIMITED = 1125899906842624

local META, STATE, TERMS, GATE = '<dddddddddd', '<ddddddddddddddddddddddddd', '<ddddddddddddddd', '<ddddddd'
local META_SIZE, STATE_SIZE, TERMS_SIZE = 10 * 8, 25 * 8, 15 * 8

local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil
local pack, unpack_of = struct.pack, struct.unpack
local key = KEYS[1]

local clock
if ARGV[1] ~= '' then
  clock = tonumber(ARGV[1])
else
  local t = redis.call('TIME')
  clock = t[1] * SECOND + t[2]
end
local server = tonumber(string.sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, 13), 16)
local caller_epoch, caller_sequence, at_least, at_most, stored_sequence, caller_turns, caller_scale,
  caller_clock, since_least, since_most, newcomer = unpack_of('<ddddddddddd', ARGV[2])

-- group is what is known, nil if nothing is that can be trusted: another server wrote
-- it, as this one was started from a snapshot or took over, or it is older than the
-- caller has seen, or than what is stored.
--
-- strict is the longest period that a bucket paces, turns how often somebody told what
-- time it is, and scale how often that was a newcomer for whom nobody vouched.
local group, now
-- stranger is for how long the caller is granted nothing by buckets that pace, told what
-- it is told of that, and stands where time stood before it came.
local stranger, told, stands, rescaled = 0, 0, nil, 0

local function read_group()
  local text = redis.call('HGET', key, 'm')
  if not text or #text ~= META_SIZE then
    return nil
  end
  local g = {}
  g.epoch, g.sequence, g.born, g.offset, g.now, g.server, g.sweep, g.turns, g.strict, g.scale = unpack_of(META, text)
  return g
end

-- meet_stranger finds out whether the caller can tell what time it is.
local function meet_stranger(g)
  local ran = clock - caller_clock
  if caller_epoch ~= g.epoch
    or (newcomer == 1 or caller_scale ~= g.scale) and (ran < since_least - 1 or ran > since_most + 1) then
    stranger, told = g.strict, 2
  elseif newcomer == 1 and g.turns <= caller_turns then
    if since_least < g.strict then
      stranger, told = g.strict - since_least, 1
    else
      rescaled = 1
    end
  end
end

local function known()
  local g = read_group()
  if not g or g.server ~= server or stored_sequence > g.sequence or caller_epoch > g.epoch
    or caller_epoch == g.epoch and caller_sequence > g.sequence then
    return false
  end
  now = clock + g.offset
  if g.strict > 0 then
    meet_stranger(g)
  end
  if caller_epoch == g.epoch and caller_scale == g.scale then
    if newcomer == 0 then
      now = min(now, at_most)
    end
    now = max(now, at_least)
  end
  now = max(now, g.now)
  if stranger > 0 then
    stands = { offset = g.offset, now = g.now }
  else
    g.turns, g.scale = g.turns + 1, g.scale + rescaled
  end
  g.offset, g.now = now - clock, now
  group = g
  return true
end

-- write_group keeps what is known of the group, and the fields that are given: pairs of
-- names and values.
local function write_group(fields)
  local time, n = stands or group, #fields
  fields[n + 1], fields[n + 2] = 'm', pack(META, group.epoch, group.sequence, group.born, time.offset, time.now,
    group.server, group.sweep, group.turns, group.strict, group.scale)
  redis.call('HSET', key, unpack(fields))
  redis.call('EXPIRE', key, KEEP)
end

-- head fills in the HEAD of an answer.
local function head(answer)
  answer[1], answer[2], answer[3] = group.epoch, group.sequence, (stands or group).now
  answer[4], answer[5], answer[6], answer[7] = group.turns, clock, told, group.scale
  return answer
end

local function read_terms(text, at)
  local t = {}
  t.shape, t.limit, t.assumed, t.refill, t.period, t.open, t.keep, t.use, t.low, t.calendar, t.reads, t.stored,
    t.reserve, t.ahead, t.paced = unpack_of(TERMS, text, at)
  return t
end

-- adapt puts what the upstream told of a ration into its terms.
local function adapt(c, t)
  if c.refill > 0 and t.shape == BUCKET then
    t.refill = c.refill
  end
  if c.window > 0 and t.open == 1 then
    t.period = c.window
  end
end

local function cost_time(t, n)
  return ceil(n * t.period / t.refill)
end

local function comes_back(t, limit)
  if t.shape == BUCKET then
    return cost_time(t, limit)
  end
  return t.period
end

local function usable(t, limit, low)
  local keep, reserve = t.keep, t.reserve
  if t.assumed == 0 and limit < t.limit then
    keep, reserve = floor(keep * limit / t.limit), floor(reserve * limit / t.limit)
  end
  local n = floor(limit * t.use / 100) - keep
  if low then
    n = min(n - reserve, floor(limit * t.low / 100))
  end
  if t.assumed == 1 and limit == t.limit then
    n = max(n, 1)
  end
  return max(n, 0)
end

local function margin(t)
  return min(SECOND, floor(t.period / 50))
end

local function granted(c, t)
  if c.limit > 0 then
    return c.limit
  end
  return t.limit
end

-- owed is how many parts a bucket is owed at an instant.
local function owed(c, t, at)
  if at > c.full then
    return 0
  end
  return (c.full - at) * t.refill + c.rest
end

local function owe(c, t, at, parts)
  local whole = floor(parts / t.refill)
  local rest = parts - whole * t.refill
  if parts >= EXACT then
    whole, rest = ceil(parts / t.refill), 0
  elseif rest < 0 then
    whole, rest = whole - 1, rest + t.refill
  elseif rest >= t.refill then
    whole, rest = whole + 1, rest - t.refill
  end
  c.full, c.rest = at + whole, rest
end

local function used(c, t)
  if t.shape == BUCKET then
    return c.inflight + ceil(owed(c, t, now) / t.period)
  end
  return c.inflight + c.spent
end

local function lost(c)
  return c.lost + c.next
end

local function confirm(c, id)
  for _ = 1, 2 do
    if c.lost > 0 and id > c.after then
      c.lost, c.after, c.next, c.next_after = c.next, c.next_after, 0, 0
    end
  end
end

local function add_lost(c, n)
  if c.lost == 0 then
    c.lost, c.after = n, c.newest
  else
    c.next, c.next_after = c.next + n, c.newest
  end
end

-- slots are pairs of doubles: when the last of it was spent, and how much.
local function spend(c, t, at, n)
  if n <= 0 or t.shape == CONCURRENT then
    return
  end
  if t.shape == BUCKET then
    owe(c, t, at, owed(c, t, at) + n * t.period)
    return
  end
  c.spent = c.spent + n
  local grain, size = max(floor(t.period / SLOTS), 1), #c.slots
  if size > 0 then
    local last, have = unpack_of('<dd', c.slots, size - 15)
    if floor(last / grain) == floor(at / grain) or last > at then
      c.slots = string.sub(c.slots, 1, size - 16) .. pack('<dd', max(last, at), have + n)
      return
    end
  end
  c.slots = c.slots .. pack('<dd', at, n)
end

-- drop forgets the slots that ended before an instant.
local function drop(c, before)
  local at, size = 1, #c.slots
  while at <= size do
    local last, n = unpack_of('<dd', c.slots, at)
    if last >= before then
      break
    end
    c.spent = c.spent - n
    at = at + 16
  end
  if at > 1 then
    c.slots = string.sub(c.slots, at)
  end
end

local function advance_window(c, t, left)
  if c.finish > 0 and now >= c.finish then
    drop(c, c.early)
    c.finish, c.early, c.reported = 0, 0, -1
    c.lost, c.after, c.next, c.next_after = 0, 0, 0, 0
    c.ceiling, c.covers = 0, 0
  end
  if c.finish == 0 then
    drop(c, now - t.period + 1)
    if c.reported >= 0 and c.told_at + t.period <= now then
      c.reported, c.lost, c.after, c.next, c.next_after = -1, 0, 0, 0, 0
    end
    if left > 2 * margin(t) then
      -- It is known from now on, also if nothing is drawn: close to the end nobody can tell.
      c.finish, c.early, c.changed = now + left + margin(t), now + left - margin(t), true
    end
  end
end

local function advance(c, t, left)
  if c.presumed > 0 then
    local n = c.presumed
    c.presumed = 0
    spend(c, t, c.presumed_at, n)
  end
  if t.shape == FIXED or t.shape == SLIDING then
    advance_window(c, t, left)
  end
  if used(c, t) == 0 then
    c.lost, c.after, c.next, c.next_after = 0, 0, 0, 0
  end
end

local counts = {}

-- new_count begins to count: what comes back quickly and is not stored is taken to
-- have been spent when the group was born.
local function new_count(t)
  local c = { limit = 0, spent = 0, inflight = 0, finish = 0, early = 0, reported = -1, told = 0, told_at = 0, lost = 0,
    after = 0, next = 0, next_after = 0, newest = 0, full = 0, ceiling = 0, covers = 0, presumed = 0, presumed_at = 0,
    refill = 0, window = 0, rest = 0, low = 0, hold = 0, line = 0, issued = 0, slots = '' }
  if t and t.paced == 1 then
    if now < group.born + t.period then
      c.hold = group.born + t.period
    end
  elseif t and t.shape ~= CONCURRENT and t.limit < UNLIMITED and t.stored == 0
    and now < group.born + comes_back(t, t.limit) then
    c.presumed, c.presumed_at = t.limit, group.born
  end
  return c
end

-- count returns a count; without terms, by those that it was counted by last.
local function count(name, t)
  local c = counts[name]
  if not c then
    local text = redis.call('HGET', key, 'c:' .. name)
    if text then
      c = {}
      c.limit, c.spent, c.inflight, c.finish, c.early, c.reported, c.told, c.told_at, c.lost, c.after, c.next,
        c.next_after, c.newest, c.full, c.ceiling, c.covers, c.presumed, c.presumed_at, c.refill,
        c.window, c.rest, c.low, c.hold, c.line, c.issued = unpack_of(STATE, text)
      c.terms = string.sub(text, STATE_SIZE + 1, STATE_SIZE + TERMS_SIZE)
      c.slots = string.sub(text, STATE_SIZE + TERMS_SIZE + 1)
    elseif t then
      c = new_count(t)
    else
      return nil
    end
    counts[name] = c
  end
  if t then
    c.terms = t.text
  end
  t = t or read_terms(c.terms, 1)
  adapt(c, t)
  return c, t
end

local gates = {}

local function gate(name)
  local g = gates[name]
  if not g then
    g = { till = 0, why = PARKED, half = 0, pilot = 0, since = 0, closed = 0, strikes = 0 }
    local text = redis.call('HGET', key, 'g:' .. name)
    if text then
      g.till, g.why, g.half, g.pilot, g.since, g.closed, g.strikes = unpack_of(GATE, text)
    end
    gates[name] = g
  end
  return g
end

local function close(g, wait, why)
  local till = now + min(wait, LONGEST_PARK)
  if till > g.till then
    g.till, g.why = till, why
  end
  g.half, g.closed, g.changed = 1, max(g.closed, group.sequence), true
end

-- write_down keeps all that was changed.
local function write_down()
  local fields, n = {}, 0
  for name, c in pairs(counts) do
    if c.changed then
      if n > MOST_FIELDS then
        redis.call('HSET', key, unpack(fields))
        fields, n = {}, 0
      end
      fields[n + 1] = 'c:' .. name
      fields[n + 2] = pack(STATE, c.limit, c.spent, c.inflight, c.finish, c.early, c.reported, c.told, c.told_at,
        c.lost, c.after, c.next, c.next_after, c.newest, c.full, c.ceiling, c.covers, c.presumed, c.presumed_at,
        c.refill, c.window, c.rest, c.low, c.hold, c.line, c.issued) .. c.terms .. c.slots
      n = n + 2
    end
  end
  for name, g in pairs(gates) do
    if g.changed then
      redis.call('HSET', key, 'g:' .. name, pack(GATE, g.till, g.why, g.half, g.pilot, g.since, g.closed, g.strikes))
    end
  end
  write_group(fields)
end
