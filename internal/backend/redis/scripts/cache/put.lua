-- Keeps what was read from the store, unless something is kept already, or what
-- was stored since is newer.
--
-- KEYS[1]  the entity
-- ARGV[1]  what was read
-- ARGV[2]  when the upstream was asked for it, in microseconds
-- ARGV[3]  for how long to keep it, in milliseconds
--
-- Returns 1 if it is kept, else 0.

local there = redis.call('GET', KEYS[1])
if there and (string.sub(there, 1, 1) ~= '-' or tonumber(string.sub(there, 2)) > tonumber(ARGV[2])) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1
