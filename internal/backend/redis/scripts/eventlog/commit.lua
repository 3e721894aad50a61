-- Moves a group's positions, and removes what every group has dealt with. What
-- is said of a partition under a claim that is not the present one has no
-- effect.
-- KEYS and ARGV 1 to 2: see common.lua.
-- ARGV 3 consumer, and then for each partition: partition, claim, id of the
-- last entry of the prefix that is dealt with ("" if that has not changed), id of
-- the last entry that was taken.
-- Returns how many of the partitions are somebody else's.
local me, lost = ARGV[OWN], 0
local groups = call('SMEMBERS', GROUPS)

-- trim removes the entries of a partition up to where the last group is.
local function trim(p)
  local least
  for _, group in ipairs(groups) do
    local id = call('HGET', POSITIONS, place(p, group))
    if not id then return end
    if not least or before(id, least) then least = id end
  end
  if least then
    local ms, seq = split(least)
    call('XTRIM', stream(p), 'MINID', whole(ms) .. '-' .. whole(seq + 1))
  end
end

for i = OWN + 1, #ARGV, 4 do
  local p, claim, id, taken = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if call('HGET', OWNERS, p) == me .. ' ' .. claim then
    call('HSET', POSITIONS, takenPlace(p, GROUP), taken)
    if id ~= '' then
      call('HSET', POSITIONS, place(p, GROUP), id)
      trim(tonumber(p))
    end
  else
    lost = lost + 1
  end
end
return lost
