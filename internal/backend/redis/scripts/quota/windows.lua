-- Tells what is known about an owner, and changes nothing.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2…] b:<bucket> and its configuration, for every bucket
--
-- Returns an empty array when nothing is known about the owner. Otherwise
-- now, until when it is parked and why, and for every bucket six numbers: 1 if it was
-- ever asked for else 0, limit, available, in flight, floor, reset.

local now = clock(ARGV[1])
local names = { 'o', 'w' }
for i = 2, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
  names[#names + 1] = rest_of(ARGV[i])
end
local raw = redis.call('HMGET', KEYS[1], unpack(names))
if not raw[1] or #raw[1] ~= OWNER_SIZE then
  return {}
end
local o = read_owner(raw[1], raw[2])
local why, till = gate_refusal(o, now)
if why == TRIAL then
  why, till = nil, nil
end
local reply = { now, till or 0, why or 0 }
for i = 2, #ARGV, 2 do
  local text, cfg = raw[i + 1], read_config(ARGV[i + 1])
  local c = text and read_count(text, raw[i + 2]) or new_count(cfg)
  lay_ghosts(o, c, cfg, now)
  advance(o, c, cfg, now)
  local floor = floor_of(c, cfg)
  local usable = max(available(c) - floor, 0)
  if c.trial == 1 then
    usable = min(usable, max(c.rest - floor, 1))
  end
  for _, n in ipairs({ text and 1 or 0, c.limit, usable, c.inflight, floor, window_end(o, c, cfg) or 0 }) do
    reply[#reply + 1] = n
  end
end
return reply
