-- What all scripts but the short ways begin with: the group's time. What is known of a group
-- is read by common.lua; the arithmetic of counts is in counts.lua, dated.lua and learn.lua.
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
--
-- What scripts answer begins with the HEAD: the group's epoch, number, time and turns,
-- the server's clock, whether the caller is a newcomer (0 it is none, 1 it goes on to be
-- one, 2 it is one from now on), the scale, and the server if it was found out now that it
-- is the one that wrote the group, else 0.

local SOON, STORED_LIFE = 250000, 180000000
local LONGEST_PARK = 7200 * SECOND
local FIXED, BUCKET = 0, 2
local PARKED, BACKOFF, TRIAL, SPENT, KEPT, BUSY, KEPT_ALL = 2, 3, 4, 5, 6, 7, 8
local UNLIMITED = 1125899906842624
local RESTORED = '<ddddd' -- the limit, spent, late, when the window ends (0 if not known), and when all is over

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

