-- What the short ways begin with (grant.lua, answer.lua). A short way decides as the long one
-- does, for calls that leave nothing to tidy up, learn or store, which are nearly all: on few
-- numbers, and without any function. Strings cost a script most, so it is told little, and
-- reads, writes and answers little. Whatever is not plain it leaves untouched, and the caller
-- goes the long way.
--
-- Plain counts are those of calls at once, sliding ones of which no answer tells, and those
-- whose windows the upstream dates, by terms that have the caller's mark (hot in counts.lua).
--
-- ARGV[1]  doubles: the clock of a test (0 for the server's), of what the caller knows (base.lua)
--          the epoch, the highest number, what the group's time is by now, at least and at
--          most, the scale, the server that wrote the group, and when it was found out last;
--          then how many counts, and the marks of their terms; and then what is asked or
--          answered
-- ARGV[2]  and on: the fields of the counts (h:NAME), and then those of the gates

local blob = ARGV[1]
local clock, caller_epoch, caller_sequence, at_least, at_most, caller_scale, caller_server, server_clock,
  counts_told, from = unpack_of('<ddddddddd', blob)
local tested = clock > 0
if not tested then
  local t = redis.call('TIME')
  clock = t[1] * SECOND + t[2]
end
local raw = redis.call('HMGET', key, 'm', unpack(ARGV, 2))
local text = raw[1]
if not text or #text ~= META_SIZE then
  return ''
end
local sequence, offset, now, turns, checked, alive, epoch, scale, strict, server, sweep_at, best, since, ahead = unpack_of(META, text)
if caller_epoch ~= epoch or caller_scale ~= scale or strict > 0 or caller_sequence > sequence
  or clock >= alive or clock < alive - RENEWED then
  return ''
end
-- As is_this in base.lua.
local found = 0
if caller_server == server then
  checked = max(checked, server_clock)
end
if tested or server_clock < 0 or clock < checked or clock > checked + 10000 then
  found = tonumber(sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, 13), 16)
  checked = clock
  if found ~= server then
    return ''
  end
end
now = max(min(clock + offset, at_most), at_least, now)

-- Where a count has what: as HOT and HOT_DATED have it.
local INFLIGHT, NEWEST, SHAPE, KEPT, LOW, CEILING, COVERS, PERIOD, SPENT, LAST, HAVE, OLDEST = 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13
local LEFT, STARTED, REPORTED, RESET, LIMIT, CARRIED, ANCHOR, ASSUMED, SPARE = 10, 11, 12, 13, 14, 17, 18, 19, 20
local counts, plain = {}, true
for i = 1, counts_told do
  text = raw[1 + i]
  if not text then
    return ''
  elseif #text == 48 then
    local c = { unpack_of('<dddddd', text) }
    c[CEILING], c[COVERS], c[PERIOD], c[SPENT] = EXACT, EXACT, 0, 0
    counts[i] = c
  elseif #text == 104 then
    local c = { unpack_of(HOT, text) }
    -- Nothing may have come back.
    plain = (c[OLDEST] > 0 and c[OLDEST] or c[HAVE] > 0 and c[LAST] or now) + c[PERIOD] > now
    counts[i] = c
  else
    local c = { unpack_of(HOT_DATED, text) }
    local reset, hold, ending = c[RESET], c[15], c[16]
    if reset > 0 then
      ending = max(reset + RESET_MARGIN - best, hold)
    elseif hold > 0 then
      ending = hold
    end
    plain = ending == 0 or now < ending and ending <= now + 2 * c[PERIOD] + RESET_SLACK
    counts[i] = c
  end
  if not plain or counts[i][4] ~= unpack_of('<d', blob, from) then
    return ''
  end
  from = from + 8
end
