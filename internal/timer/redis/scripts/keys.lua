-- What every script of the expiring keys begins with.
--
-- KEYS 1 timer:finished, zset key -> when, in ms: what was done or removed a
-- short time ago. Those who heard of it and did not act yet leave it alone. It
-- is no expiring key for each, because Redis finds those the later the more
-- there are.
-- The other KEYS are two for each timer:
--   timer:schedule:<id>    expires at its instant; that is the announcement
--   timer:processing:<id>  whoever took it: the token; expires after the grace
local FINISHED = KEYS[1]
local call = redis.call

-- whole writes a number without a fraction; numbers as such would lose digits.
local function whole(number) return string.format('%d', number) end

local time = call('TIME')
local now = math.floor(time[1] * 1000 + time[2] / 1000)

-- schedule has Redis announce a timer. A key that is set to expire in the past
-- would be deleted without a word.
local function schedule(key, at) call('SET', key, '', 'PXAT', whole(math.max(at, now + 1))) end

-- finish notes keys of timers that are over, and forgets those of long ago.
local function finish(list, lasts)
  call('ZREMRANGEBYSCORE', FINISHED, '-inf', whole(now - lasts))
  if #list > 0 then call('ZADD', FINISHED, unpack(list)) end
end
