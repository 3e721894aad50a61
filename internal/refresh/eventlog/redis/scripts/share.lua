-- Keeps a consumer a member of its group, or ends that, and lets it have its
-- share of the partitions. Nobody is robbed: who has too many is told which to
-- give up, and those who lack some take what is free. Members that were silent
-- for too long are dropped.
-- KEYS and ARGV 1 to 2: see common.lua.
-- ARGV 3 consumer, 4 how long it may be silent (ms), 5 "leave" or "stay", 6 and
-- on: partitions that it gives up.
-- Returns the partitions that it should give up, and for each that it has:
-- partition, claim, position ("" for none).
local me, lease, leaving = ARGV[OWN], tonumber(ARGV[OWN + 1]), ARGV[OWN + 2] == 'leave'
local changed = #ARGV > OWN + 2

for _, dead in ipairs(call('ZRANGEBYSCORE', MEMBERS, '-inf', now)) do
  if dead ~= me then
    call('ZREM', MEMBERS, dead)
    changed = true
  end
end
if leaving then
  if call('ZREM', MEMBERS, me) == 1 then changed = true end
else
  call('SADD', GROUPS, GROUP)
  if call('ZADD', MEMBERS, whole(now + lease), me) == 1 then changed = true end
end

local members, count = call('ZRANGE', MEMBERS, 0, -1), {}
for _, m in ipairs(members) do count[m] = 0 end
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
    if count[who] and not (who == me and released[p]) then
      owner[p], claims[p] = who, claim
      count[who] = count[who] + 1
    else
      call('HDEL', OWNERS, owners[i])
    end
  end
end

-- Those who have more already keep what does not divide.
table.sort(members, function(a, b)
  if count[a] ~= count[b] then return count[a] > count[b] end
  return a < b
end)
local quota = 0
for i, m in ipairs(members) do
  if m == me then
    quota = math.floor(PARTITIONS / #members)
    if i <= PARTITIONS % #members then quota = quota + 1 end
  end
end

local mine, give, have = count[me] or 0, {}, {}
for p = 0, PARTITIONS - 1 do
  if not owner[p] and mine < quota then
    -- Claims grow also when everything was forgotten: they go with the clock.
    latest = math.max(latest + 1, micros)
    owner[p], claims[p] = me, whole(latest)
    call('HSET', OWNERS, p, me .. ' ' .. claims[p], 'claim', claims[p])
    mine = mine + 1
  end
  if owner[p] == me then
    local at = #have
    have[at + 1], have[at + 2] = tostring(p), claims[p]
    have[at + 3] = call('HGET', POSITIONS, place(p, GROUP)) or ''
  end
end
for i = #have - 2, 1, -3 do
  if mine - #give <= quota then break end
  give[#give + 1] = have[i]
end
if changed then call('PUBLISH', CHANNEL, '') end
return { give, have }
