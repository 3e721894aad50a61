-- What every script of a due set begins with, behind instants.lua.
--
-- KEYS, the same for every script:
--   1 due:<name>        zset id -> instant in microseconds. What waits has an
--                       even one; what is taken has an odd one, the end of its
--                       grace, which is the token of the taking as well.
--   2 due:<name>:epoch  string: the run of the server that the set belongs to,
--                       and the time when something was last taken
-- ARGV 1, the same for every script: the channel that is told of an instant
-- that became the earliest.
local DUE, EPOCH, CHANNEL = KEYS[1], KEYS[2], ARGV[1]
local OWN = 2 -- the script's first own argument

-- is_taken says whether a score is a token.
local function is_taken(score) return score and score % 2 == 1 end

-- even is the instant of something that waits, no later than a time.
local function even(time) return time - time % 2 end
