-- Asks for the right to publish a request for an entity.
--
-- What is known about an entity is one string: the newest version, the priority
-- of the lock (0 released, 1 LOW, 2 HIGH), and when it ends in microseconds,
-- parted by colons.
--
-- KEYS[1]  the entity
-- ARGV[1]  the priority asked for: 1 LOW, 2 HIGH
-- ARGV[2]  how long a lock of this priority lasts, in microseconds
-- ARGV[3]  how long any lock lasts at most: one that would last for longer was
--          made before the clock was set back, and has ended
-- ARGV[4]  how long the version is remembered, in milliseconds
-- ARGV[5]  the newest version that the caller knows of any entity: the version
--          is larger, although the entity may be forgotten and the clock set back
--
-- Returns the result (1 published, 2 upgraded, 3 already processing), the
-- priority of the lock, and its version.

local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local asked = tonumber(ARGV[1])

local result, version = 1, math.max(now, tonumber(ARGV[5]) + 1)
local text = redis.call('GET', KEYS[1])
if text then
  local last, priority, ends = string.match(text, '^(%d+):(%d):(%d+)$')
  last, priority, ends = tonumber(last), tonumber(priority), tonumber(ends)
  version = math.max(version, last + 1)
  if priority > 0 and now < ends and ends - now <= tonumber(ARGV[3]) then
    if priority >= asked then
      return { 3, priority, last }
    end
    result = 2
  end
end
redis.call('SET', KEYS[1], string.format('%.0f:%d:%.0f', version, asked, now + tonumber(ARGV[2])),
  'PX', ARGV[4])
return { result, asked, version }
