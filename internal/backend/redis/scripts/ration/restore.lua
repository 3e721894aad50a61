-- Begins a group anew of which nothing is known that can be trusted, with what is
-- stored of it.
--
-- KEYS[1]  the group
-- ARGV[3]  the highest number that was stored
-- ARGV[4]  how many counts follow: for each its name and nine doubles: the limit that was
--          told, what may have been taken as far as it still counts, in how long the window
--          ends (0 if not known), what was told to come back (0 if nothing was), and what was
--          not urgent; and for windows that the upstream dates what may have been taken,
--          what of it may be counted after the end, in how long that comes (0 if not known;
--          less if it has come), and in how long all is over; then gates, for each its name
--          and for how long it is closed
--
-- Returns the HEAD.

if known() then
  write_group({})
  return head({})
end
stranger, told, stands, rescaled = 0, 0, nil, 0
local old = read_group() or { epoch = 0, sequence = 0 }
local number = max(clock, tonumber(ARGV[3]), caller_sequence, stored_sequence, old.sequence) + 1
redis.call('DEL', key)
now = clock
group = { epoch = max(clock, caller_epoch, old.epoch) + 1, sequence = number, born = now, offset = 0, now = now,
  server = server_id(), best = 0, sweep = now + life / 2, turns = 0, strict = 0, scale = 0, known = 0, ahead = 0, slack = 0,
  old_known = 0, old_ahead = 0, old_slack = 0, since = 0, checked = now, alive = 0 }
local at = 5
for _ = 1, tonumber(ARGV[4]) do
  local c = new_count(nil)
  local finish, spent, late, ends, over
  c.limit, c.presumed, finish, c.refill, c.low, spent, late, ends, over = unpack_of('<ddddddddd', ARGV[at + 1])
  redis.call('HSET', key, 'r:' .. ARGV[at], pack(RESTORED, c.limit, spent, late, ends ~= 0 and now + ends or 0, now + over))
  c.presumed_at, c.changed = now, c.presumed > 0
  if finish > 0 then
    c.finish, c.early = now + finish, now + finish - 2 * SECOND
  end
  -- Whoever asks first brings the terms; until then it is a window of three days.
  c.terms = pack(TERMS, FIXED, 1, 0, 1, 259200 * SECOND, 0, 0, 100, 100, 0, 0, 1, 0, 0, 0, 0, 0, 0)
  if c.changed then
    counts[ARGV[at]] = c
  end
  at = at + 2
end
while at < #ARGV do
  local g = gate(ARGV[at])
  close(g, tonumber(ARGV[at + 1]), PARKED)
  at = at + 2
end
write_down()
return head({})
