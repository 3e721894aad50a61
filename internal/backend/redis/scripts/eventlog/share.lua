-- Keeps a consumer a member of its group, or ends that, and shares the
-- partitions out. Members that were silent for too long are dropped. What
-- belongs to nobody is given to those who lack some, whoever runs this, and they
-- are told; so one call is enough, however many came or went. Nobody is robbed:
-- those who have too many are told so, and give up what they choose.
-- KEYS and ARGV 1 to 2: see common.lua.
-- ARGV 3 consumer, 4 how long it may be silent (ms), 5 "join", "stay" or
-- "leave", 6 and on: partitions that it gives up.
-- Returns how many partitions it should still give up; in how long the first of
-- the others counts as dead (ms, -1 if there are none); and for each partition
-- that it has: partition, claim, position ("" for none).
local me, lease, what = ARGV[OWN], tonumber(ARGV[OWN + 1]), ARGV[OWN + 2]
local changed, everybody = #ARGV > OWN + 2, false

for _, dead in ipairs(call('ZRANGEBYSCORE', MEMBERS, '-inf', now)) do
  if dead ~= me then
    call('ZREM', MEMBERS, dead)
    changed = true
  end
end
if what == 'leave' then
  if call('ZREM', MEMBERS, me) == 1 then changed = true end
else
  call('SADD', GROUPS, GROUP)
  if call('ZADD', MEMBERS, whole(now + lease), me) == 1 then
    changed = true
    -- It was taken for dead, or Redis has lost what it knew: then others may
    -- believe that they are members, and are not.
    everybody = what == 'stay'
  end
end

-- The members, by when they count as dead.
local scores = call('ZRANGE', MEMBERS, 0, -1, 'WITHSCORES')
local members, count, wait = {}, {}, -1
for i = 1, #scores, 2 do
  local m = scores[i]
  members[#members + 1], count[m] = m, 0
  if m ~= me and wait < 0 then wait = tonumber(scores[i + 1]) - now end
end

local released = {}
for i = OWN + 3, #ARGV do released[tonumber(ARGV[i])] = true end
local owners = call('HGETALL', OWNERS)
local owner, claims, latest = {}, {}, 0
for i = 1, #owners, 2 do
  if owners[i] == 'claim' then
    latest = tonumber(owners[i + 1])
  else
    local p = tonumber(owners[i])
    local who, claim = string.match(owners[i + 1], '^(.*) (%d+)$')
    if p >= 0 and p < PARTITIONS and count[who] and not (who == me and released[p]) then
      owner[p], claims[p] = who, claim
      count[who] = count[who] + 1
    else
      call('HDEL', OWNERS, owners[i])
      -- What that one has taken is anybody's again.
      call('HDEL', POSITIONS, takenPlace(p, GROUP))
    end
  end
end

-- Those who have more already keep what does not divide.
table.sort(members, function(a, b)
  if count[a] ~= count[b] then return count[a] > count[b] end
  return a < b
end)
local target = {}
for i, m in ipairs(members) do
  target[m] = math.floor(PARTITIONS / #members)
  if i <= PARTITIONS % #members then target[m] = target[m] + 1 end
end

local free, concerned, told = {}, {}, {}
local function tell(m)
  if m ~= me and not told[m] then
    told[m] = true
    concerned[#concerned + 1] = m
  end
end
for p = PARTITIONS - 1, 0, -1 do
  if not owner[p] then free[#free + 1] = p end
end
-- The targets sum up to all partitions: as long as one is free, somebody lacks
-- one. Those who do take turns.
local gave = true
while gave do
  gave = false
  for _, m in ipairs(members) do
    if #free > 0 and count[m] < target[m] then
      gave = true
      local p = table.remove(free)
      -- Claims grow also when everything was forgotten: they go with the clock.
      latest = math.max(latest + 1, micros)
      owner[p], claims[p] = m, whole(latest)
      call('HSET', OWNERS, p, m .. ' ' .. claims[p], 'claim', claims[p])
      count[m] = count[m] + 1
      tell(m)
    end
  end
end
if changed then
  for _, m in ipairs(members) do
    if count[m] > target[m] then tell(m) end
  end
end
if everybody then
  call('PUBLISH', CHANNEL, '')
elseif #concerned > 0 then
  call('PUBLISH', CHANNEL, table.concat(concerned, ' '))
end

local mine, places = {}, {}
for p = 0, PARTITIONS - 1 do
  if owner[p] == me then
    mine[#mine + 1], places[#places + 1] = p, place(p, GROUP)
  end
end
local have, positions = {}, {}
if #mine > 0 then positions = call('HMGET', POSITIONS, unpack(places)) end
for i, p in ipairs(mine) do
  local at = #have
  have[at + 1], have[at + 2], have[at + 3] = tostring(p), claims[p], positions[i] or ''
end
return { math.max(#mine - (target[me] or 0), 0), wait, have }
