-- What every script of the keeper of rations shares: how a group is written down, and
-- its time. The arithmetic of counts is in counts.lua, dated.lua and learn.lua.
--
-- All that is known about one group is one hash, so that it vanishes as a whole or
-- not at all, and lies in one slot of a cluster:
--   m       the group itself (META)
--   c:NAME  a count (STATE), the terms it was counted by last (TERMS), and its slots or, if
--           the upstream dates its windows, that (DATED)
--   r:NAME  what was stored of a count when the group began (RESTORED)
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
-- ARGV[2]  what the caller knows, twelve doubles: the group's epoch, its highest number
--          when it answered last, and what its time is by now, at least and at most; the
--          epoch is zero if nothing is known. Then the highest number that was stored
--          elsewhere when the caller met the group. Then the turns, the scale of the group and
--          the server's clock when it answered last, how long ago that is when this script
--          runs, at least and at most, 1 if the caller was a newcomer then else 0, and how long a
--          permit may be out before its holder is taken for gone
-- Times are microseconds.
--
-- What scripts answer begins with the HEAD: the group's epoch, number, time and turns,
-- the server's clock, whether the caller is a newcomer (0 it is none, 1 it goes on to be
-- one, 2 it is one from now on), and the scale.

local SECOND, SOON, STORED_LIFE, SLOTS = 1000000, 250000, 180000000, 64
local LONGEST_LEARNT = 745 * 3600 * SECOND
local LONGEST_PARK, FIRST_DELAY, LONGEST_DELAY = 7200 * SECOND, 60 * SECOND, 960 * SECOND
local KEEP = '259200' -- three days, in seconds: what takes longer is stored elsewhere
local FIXED, SLIDING, BUCKET, CONCURRENT = 0, 1, 2, 3
local PARKED, BACKOFF, TRIAL, SPENT, KEPT, BUSY, KEPT_ALL = 2, 3, 4, 5, 6, 7, 8

local MOST_FIELDS = 500 -- and as many values are written at once at most
local EXACT = 9007199254740992 -- doubles count by ones as far as that
local UNLIMITED = 1125899906842624

local META, STATE, TERMS, GATE = '<dddddddddddddddddd', '<ddddddddddddddddddddddddd', '<dddddddddddddddddd', '<ddddddd'
local META_SIZE, STATE_SIZE, TERMS_SIZE = 18 * 8, 25 * 8, 18 * 8
local RESTORED = '<ddddd' -- the limit, spent, late, when the window ends (0 if not known), and when all is over

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

-- server_id is a number for as long as this server runs. It takes as long to find out as all
-- the rest; no server starts within 10 ms, so that what was found out less than 10 ms ago
-- still holds.
local function server_id()
  return tonumber(string.sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, 13), 16)
end

local caller_epoch, caller_sequence, at_least, at_most, stored_sequence, caller_turns, caller_scale,
  caller_clock, since_least, since_most, newcomer, life = unpack_of('<dddddddddddd', ARGV[2])

-- group is what is known, nil if nothing is that can be trusted: another server wrote
-- it, as this one was started from a snapshot or took over, or it is older than the
-- caller has seen, or than what is stored.
--
-- strict is the longest period that a bucket paces, turns how often somebody told what
-- time it is, and scale how often that was a newcomer for whom nobody vouched. The others
-- bound how far the upstream's clock is ahead (Skew).
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
  g.epoch, g.sequence, g.born, g.offset, g.now, g.server, g.sweep, g.turns, g.strict, g.scale, g.known, g.ahead, g.slack,
    g.old_known, g.old_ahead, g.old_slack, g.since, g.checked = unpack_of(META, text)
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
  if g and (ARGV[1] ~= '' or clock < g.checked or clock > g.checked + 10000) then
    if g.server ~= server_id() then
      return false
    end
    g.checked = clock
  end
  if not g or stored_sequence > g.sequence or caller_epoch > g.epoch
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
    group.server, group.sweep, group.turns, group.strict, group.scale, group.known, group.ahead, group.slack,
    group.old_known, group.old_ahead, group.old_slack, group.since, group.checked)
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
    t.reserve, t.ahead, t.paced, t.dated, t.own, t.patient = unpack_of(TERMS, text, at)
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
