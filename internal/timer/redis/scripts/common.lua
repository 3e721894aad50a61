-- What every script of the due set begins with.
--
-- KEYS, the same for every script:
--   1 timers:due    zset id -> instant in microseconds since 1970. What waits
--                   has an even one; what is taken has an odd one, the end of
--                   its grace, which is the token of the taking as well.
--   2 timers:epoch  string: the run of the server that the set belongs to
-- ARGV 1, the same for every script: the channel that is told of an instant
-- that became the earliest.
local DUE, EPOCH, CHANNEL = KEYS[1], KEYS[2], ARGV[1]
local OWN = 2 -- the script's first own argument
local NEVER = 9007199254740991

local call = redis.call

-- whole writes a number without a fraction; numbers as such would lose digits.
local function whole(number) return string.format('%d', number) end

local function first()
  local earliest = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
  return tonumber(earliest[2]) or NEVER
end

-- tell tells those who wait if something is due before what was the first.
-- Nobody waits for longer than until what was the first when he looked, and
-- that only moves towards the present by being told here.
local function tell(before)
  local now = first()
  if now < before then call('PUBLISH', CHANNEL, whole(now)) end
end

-- is_taken says whether a score is a token.
local function is_taken(score) return score and score % 2 == 1 end
