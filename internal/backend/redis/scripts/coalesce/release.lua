-- Gives a lock up if it is still the one that was granted. The version is
-- remembered for as long as it would have been.
--
-- KEYS[1]  the entity
-- ARGV[1]  the version and the priority of the lock, as they are stored:
--          parted by a colon, and one at the end
-- ARGV[2]  the same, with the priority of a lock that is released
--
-- Returns 1 if the lock was given up, else 0.

local text = redis.call('GET', KEYS[1])
if not text or string.sub(text, 1, #ARGV[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2] .. string.sub(text, #ARGV[1] + 1), 'KEEPTTL')
return 1
