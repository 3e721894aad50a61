-- What every script of the expiring keys begins with, behind due/instants.lua.
--
-- KEYS 1 timer:finished, zset key -> when, in ms: what was done or removed a
-- short time ago. Those who heard of it and did not act yet leave it alone. It
-- is no expiring key for each, because Redis finds those the later the more
-- there are.
-- The other KEYS are two for each timer, and for work that waits like one:
--   timer:schedule:<id>    expires at its instant; that is the announcement
--   timer:processing:<id>  whoever took it: the token; expires after the grace
local FINISHED = KEYS[1]
local now_us = microseconds()
local now = math.floor(now_us / 1000)

-- schedule has Redis announce a timer. A key that is set to expire in the past
-- would be deleted without a word.
local function schedule(key, at) call('SET', key, '', 'PXAT', whole(math.max(at, now + 1))) end

-- finish notes keys of timers that are over, and forgets those of long ago.
local function finish(list, lasts)
  call('ZREMRANGEBYSCORE', FINISHED, '-inf', whole(now - lasts))
  if #list > 0 then call('ZADD', FINISHED, unpack(list)) end
end

-- epoch_of reads timer:epoch: the run of the server that the keys belong to, with
-- a question mark in front while they are not complete (the announcement of the
-- rebuild can be missed like every other), and about when that was looked at, in
-- ms. Earlier versions wrote the run alone.
local function epoch_of(key)
  local run, looked = string.match(call('GET', key) or '', '^(%??%x*) ?(%d*)$')
  return run, tonumber(looked) or 0
end

local function note_epoch(key, run) call('SET', key, run .. ' ' .. whole(now)) end
