-- What every script begins with.
--
-- KEYS, the same for every script; all are in the slot of their topic:
--   1 groups     set: the groups that ever joined the topic
--   2 positions  hash: "<partition> <group>" to the id of the last entry of the
--                prefix that the group has dealt with; "taken <partition> <group>"
--                to that of the last one that a consumer has taken; "epoch" to
--                what names the life of the entries
--   3 members    sorted set: consumers of the group by when they count as dead
--                (ms)
--   4 owners     hash: partition to "<consumer> <claim>"; "claim" to the latest
--                claim
--   5 and on     streams: one for each partition, the first being partition 0
-- ARGV, the same for every script:
--   1 group      "" if the script is about none
--   2 channel    where the group's consumers listen
local GROUPS, POSITIONS, MEMBERS, OWNERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local GROUP, CHANNEL = ARGV[1], ARGV[2]
local STREAMS, OWN = 5, 3
local PARTITIONS = #KEYS - STREAMS + 1
local call = redis.call

local time = call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)

-- whole writes a large number without an exponent.
local function whole(n) return string.format('%.0f', n) end

local function stream(partition) return KEYS[STREAMS + partition] end

local function place(partition, group) return partition .. ' ' .. group end

local function takenPlace(partition, group) return 'taken ' .. place(partition, group) end

-- split takes the id of an entry apart.
local function split(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

-- before says whether one entry comes before another.
local function before(a, b)
  local ams, aseq = split(a)
  local bms, bseq = split(b)
  return ams < bms or ams == bms and aseq < bseq
end
