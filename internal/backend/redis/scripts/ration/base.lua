-- What every script of the keeper of rations shares: how a group is written down, and
-- its time. What is known of a group is read by common.lua; the arithmetic of counts is in
-- counts.lua, dated.lua and learn.lua.
--
-- All that is known about one group is one hash, so that it vanishes as a whole or
-- not at all, and lies in one slot of a cluster:
--   m       the group itself (META), and k the rest of it (REST)
--   c:NAME  a count (STATE), the terms it was counted by last (TERMS), and its slots or, if
--           the upstream dates its windows, that (DATED)
--   h:NAME  a count as far as the short ways need it (HOT, or HOT_DATED for one that is dated), if
--           they can count it; what stands there stands for what c:NAME has. Its newest slot
--           is there, the older ones are in c:NAME
--   r:NAME  what was stored of a count when the group began (RESTORED)
--   g:NAME  a gate (GATE)
--   p:ID    a permit that is out, by its number in eight bytes: when it was granted, how many
--           draws it has, their prices, and the names of their counts
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
-- ARGV[2]  what the caller knows, fourteen doubles: the group's epoch, its highest number
--          when it answered last, and what its time is by now, at least and at most; the
--          epoch is zero if nothing is known. Then the highest number that was stored
--          elsewhere when the caller met the group. Then the turns, the scale of the group and
--          the server's clock when it answered last, how long ago that is when this script
--          runs, at least and at most, 1 if the caller was a newcomer then else 0, and how long a
--          permit may be out before its holder is taken for gone. Then the server that wrote
--          the group, as far as the caller knows, and that server's clock when it was found
--          out last that it runs, for whichever group; negative to find out again
-- Scripts that speak of counts go on alike (but for the short ways, short.lua):
-- ARGV[4]  doubles: 1 if counts are stored elsewhere before they are drawn on, and the marks of
--          the terms of all counts
-- ARGV[5]  for each count its terms (TERMS), and how long the part of the calendar still lasts
-- ARGV[6]  and on: the fields of the counts, then those of the gates
-- Times are microseconds.
--
-- What scripts answer begins with the HEAD: the group's epoch, number, time and turns,
-- the server's clock, whether the caller is a newcomer (0 it is none, 1 it goes on to be
-- one, 2 it is one from now on), the scale, and the server if it was found out now that it
-- is the one that wrote the group, else 0.

local SECOND, SOON, STORED_LIFE, SLOTS = 1000000, 250000, 180000000, 64
local LONGEST_PARK = 7200 * SECOND
local RENEWED = 3600 * SECOND -- how often a group's life is made longer
local FIXED, SLIDING, BUCKET, CONCURRENT = 0, 1, 2, 3
local PARKED, BACKOFF, TRIAL, SPENT, KEPT, BUSY, KEPT_ALL = 2, 3, 4, 5, 6, 7, 8

local EXACT = 9007199254740992 -- doubles count by ones as far as that
local UNLIMITED = 1125899906842624

-- META: number, offset, now, turns, checked, alive, epoch, scale, strict, server, sweep, best, since,
-- ahead. REST: known, slack, old_known, old_ahead, old_slack, born.
-- STATE: inflight, newest, spent, ceiling, covers, presumed, hold, limit, finish, reported, lost, window,
-- early, told, told_at, after, next, next_after, full, presumed_at, refill, rest, low, line, issued.
-- DATED: left, inflight, newest, started, reported, reset, limit, hold, answered, carried, anchor,
-- assumed, opened, lost, after, next, next_after, late, previous, trial, rest, tried.
-- HOT: inflight, newest, spent, when the newest slot was spent last and how much, when the oldest of
-- the others was (0 for none), mark, shape, what may be taken, what of that is not urgent, ceiling,
-- covers, period. HOT_DATED: left, inflight, newest, started, reported, reset, mark, kept, what is kept of
-- what is not urgent, ceiling, covers, limit, hold, when it ends if neither tells (0 if not known),
-- carried, anchor, assumed, period, and how much more than is needed may be stored. What is not
-- stored has a ceiling of EXACT.
local META, REST, STATE, DATED = '<dddddddddddddd', '<dddddd', '<ddddddddddddddddddddddddd', '<dddddddddddddddddddddd'
local HOT, HOT_DATED, TERMS, GATE = '<ddddddddddddd', '<ddddddddddddddddddd', '<dddddddddddddddddd', '<ddddddd'
local META_SIZE, REST_SIZE, STATE_SIZE, TERMS_SIZE = 14 * 8, 6 * 8, 25 * 8, 18 * 8 -- others are of another version
local RESTORED = '<ddddd' -- the limit, spent, late, when the window ends (0 if not known), and when all is over
local RESET_STEP, RESET_MARGIN, RESET_SLACK, SKEW_MEMORY = SECOND, SECOND / 50, 60 * SECOND, 600 * SECOND

local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil
local pack, unpack_of, sub = struct.pack, struct.unpack, string.sub
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
  return tonumber(sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, 13), 16)
end

local caller_epoch, caller_sequence, at_least, at_most, stored_sequence, caller_turns, caller_scale,
  caller_clock, since_least, since_most, newcomer, life, caller_server, server_clock = unpack_of('<dddddddddddddd', ARGV[2])
-- found is this server, if it was found out now.
local found = 0

-- is_this says whether a server runs this script, and when that was found out; checked is when
-- it was last.
local function is_this(server, checked)
  if ARGV[1] == '' and server_clock >= 0 then
    checked = server == caller_server and max(checked, server_clock) or checked
    if clock >= checked and clock <= checked + 10000 then
      return true, checked
    end
  end
  found = server_id()
  return found == server, clock
end

