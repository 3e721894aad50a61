-- Lifts what parks an owner, and doubts all that is known about its windows: one
-- call goes first, and its answer tells what is left.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2…] b:<bucket> and its configuration, for every bucket
--
-- Returns an empty array when nothing is known about the owner that can be
-- believed. Otherwise now, and for every bucket six numbers: 1 if its window is
-- to be stored else 0, and sequence, limit, reset, started, parked.

local now = clock(ARGV[1])
local names = { 'o', 'w' }
for i = 2, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
  names[#names + 1] = rest_of(ARGV[i])
end
local raw = redis.call('HMGET', KEYS[1], unpack(names))
local o = raw[1] and #raw[1] == OWNER_SIZE and read_owner(raw[1], raw[2])
if not o or o.server ~= server_id() then
  return {}
end
if o.half == 1 then
  o.parked, o.why, o.half, o.pilot, o.strikes, o.refresh_at = 0, 0, 1, 0, 0, 0
end

local reply, changes = { now }, {}
for i = 2, #ARGV, 2 do
  local text, cfg = raw[i + 1], read_config(ARGV[i + 1])
  if text then
    local c = read_count(text, raw[i + 2])
    lay_ghosts(o, c, cfg, now)
    if c.started > 0 or c.reset > 0 or c.hold > 0 then
      turn(c, now)
    end
    reply[#reply + 1] = 1
    add_window(reply, o, c, cfg)
    add_count(changes, ARGV[i], c)
  else
    for _ = 1, 6 do
      reply[#reply + 1] = 0
    end
  end
end
keep_alive(o, now, read_config(ARGV[3]).ttl)
add_owner(changes, o)
redis.call('HSET', KEYS[1], unpack(changes))
return reply
