-- What the short ways begin with (grant.lua, answer.lua). A short way decides as the long one
-- does, for calls that leave nothing to tidy up, learn or store, which are nearly all: on few
-- numbers, and before any function is made. Strings cost a script most, so it is told
-- little, and reads and writes little. Whatever is not plain it leaves untouched, and the caller
-- goes the long way.
--
-- Plain counts are those of calls at once, sliding ones of which no answer tells, and those
-- whose windows the upstream dates, by terms that have the caller's mark (hot in counts.lua).
--
-- ARGV[3]  what is asked or answered
-- ARGV[4]  the marks of the terms of all counts, doubles
-- ARGV[5]  and on: the fields of the counts (h:NAME), and then those of the gates

local HOT_DATED_SIZE = 19 * 8
local counts_told = #ARGV[4] / 8
local raw = redis.call('HMGET', key, 'm', unpack(ARGV, 5))
local text = raw[1]
if not text or #text ~= META_SIZE or caller_epoch == 0 then
  return {}
end
local sequence, offset, now, turns, checked, alive, epoch, scale, strict, server, sweep_at, best, since, ahead = unpack_of(META, text)
local plain, when = is_this(server, checked)
if not plain or caller_epoch ~= epoch or caller_scale ~= scale or strict > 0 or stored_sequence > sequence
  or caller_sequence > sequence or clock >= alive or clock < alive - RENEWED then
  return {}
end
offset = max(newcomer == 0 and min(clock + offset, at_most) or clock + offset, at_least, now) - clock
now = clock + offset

-- A count, in a row: whether it is dated; STATE's or DATED's first that change; then what is looked at.
local IS_DATED, INFLIGHT, NEWEST, KEPT, LOW, CEILING, COVERS, MARK, PERIOD = 1, 2, 3, 4, 5, 6, 7, 8, 9
local SPENT, LAST, HAVE, OLDEST, SHAPE, TOOK = 10, 11, 12, 13, 14, 15
local LEFT, STARTED, REPORTED, RESET, LIMIT, HOLD, ENDING, CARRIED, ANCHOR, ASSUMED, SPARE = 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
local counts = {}
for i = 1, counts_told do
  text = raw[1 + i]
  local c, mark
  if not text then
    return {}
  elseif #text == HOT_DATED_SIZE then
    local left, inflight, newest, started, reported, reset, marked, kept, low, ceiling, covers, limit, hold, otherwise, carried,
      anchor, assumed, period, spare = unpack_of(HOT_DATED, text)
    c, mark = { true, inflight, newest, kept, low, ceiling, covers, marked, period, left, started, reported, reset, limit, hold,
      otherwise, carried, anchor, assumed, spare }, marked
    local ending = reset > 0 and max(reset + RESET_MARGIN - best, hold) or hold > 0 and hold or otherwise
    plain = ending == 0 or now < ending and ending <= now + 2 * period + RESET_SLACK
  else
    local inflight, newest, spent, last, have, oldest, marked, shape, free, low, ceiling, covers, period = unpack_of(HOT, text)
    c, mark = { false, inflight, newest, free, low, ceiling, covers, marked, period, spent, last, have, oldest, shape, 0 }, marked
    -- Nothing may have come back.
    plain = shape == CONCURRENT or (oldest > 0 and oldest or have > 0 and last or now) + period > now
  end
  if not plain or mark ~= unpack_of('<d', ARGV[4], 8 * i - 7) then
    return {}
  end
  counts[i] = c
end
