-- How the keeper of rations writes a group down.
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
-- Times are microseconds.
--
-- META: number, offset, now, turns, checked, alive, epoch, scale, strict, server, sweep, best, since,
-- ahead. REST: known, slack, old_known, old_ahead, old_slack, born.
-- STATE: inflight, newest, spent, ceiling, covers, presumed, hold, limit, finish, reported, lost, window,
-- early, told, told_at, after, next, next_after, full, presumed_at, refill, rest, low, line, issued.
-- DATED: left, inflight, newest, started, reported, reset, limit, hold, answered, carried, anchor,
-- assumed, opened, lost, after, next, next_after, late, previous, trial, rest, tried.
-- HOT: inflight, newest, shape, mark, what may be taken, what of that is not urgent, ceiling, covers,
-- period; spent, when the newest slot was spent last and how much, when the oldest of the others
-- was (0 for none). Of calls at once only what stands before the ceiling.
-- HOT_DATED: inflight, newest, shape (DATED_SHAPE), mark, kept, what is kept of what is not urgent,
-- ceiling, covers, period; left, started, reported, reset, limit, hold, when it ends if neither
-- tells (0 if not known), carried, anchor, assumed, and how much more than is needed may be
-- stored. What is not stored has a ceiling of EXACT.

local SECOND, SLOTS = 1000000, 64
local SLIDING, CONCURRENT, DATED_SHAPE = 1, 3, 4 -- DATED_SHAPE is not declared, it stands for a window that is dated
local EXACT = 9007199254740992 -- doubles count by ones as far as that
local RENEWED = 3600 * SECOND -- how often a group's life is made longer
local META, REST, STATE, DATED = '<dddddddddddddd', '<dddddd', '<ddddddddddddddddddddddddd', '<dddddddddddddddddddddd'
local HOT, HOT_DATED, TERMS, GATE = '<ddddddddddddd', '<dddddddddddddddddddd', '<dddddddddddddddddd', '<ddddddd'
local META_SIZE, REST_SIZE, STATE_SIZE, TERMS_SIZE = 14 * 8, 6 * 8, 25 * 8, 18 * 8 -- others are of another version
local RESET_STEP, RESET_MARGIN, RESET_SLACK, SKEW_MEMORY = SECOND, SECOND / 50, 60 * SECOND, 600 * SECOND

local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil
local pack, unpack_of, sub = struct.pack, struct.unpack, string.sub
local key = KEYS[1]
