-- Ends permits whose holder is gone: their calls may have been made, and no
-- answer will tell. Forgets endpoints that hold nothing.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  how long a permit may be out, in microseconds
-- ARGV[3…] b:<bucket> and its configuration, for every bucket
--
-- Returns how many permits were ended.

local now, life = clock(ARGV[1]), tonumber(ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
local fields = {}
for i = 1, #all, 2 do
  fields[all[i]] = all[i + 1]
end
if not fields.o or #fields.o ~= OWNER_SIZE then
  return 0
end
local o = read_owner(fields.o, fields.w)
local configs, counts, points = {}, {}, {}
for i = 3, #ARGV, 2 do
  configs[ARGV[i]] = read_config(ARGV[i + 1])
end

local function bucket_of(field)
  return 'b' .. string.sub(field, 2, string.find(field, '\0', 1, true) - 1)
end

local function count_of(bucket, cfg)
  if not counts[bucket] then
    counts[bucket] = fields[bucket] and read_count(fields[bucket], fields[rest_of(bucket)]) or new_count(cfg)
    lay_ghosts(o, counts[bucket], cfg, now)
  end
  return counts[bucket]
end

local function points_of(field, c, cfg)
  if cfg.points <= 0 then
    return false
  end
  if not points[field] then
    points[field] = read_points(fields[field], field, c)
  end
  return points[field]
end

local gone, next_sweep = {}, now + life
for field, value in pairs(fields) do
  if string.byte(field) == 0 then
    local granted, cost, taken, rest = unpack_record('<ddd', value)
    if granted + life > now then
      next_sweep = min(next_sweep, granted + life)
    else
      local id = unpack_record(PERMIT, field)
      if id == o.pilot then
        o.pilot = 0
      end
      local place_taken = string.sub(value, rest)
      local bucket = bucket_of(place_taken)
      local cfg = configs[bucket]
      if cfg then
        local c = count_of(bucket, cfg)
        give_back(o, c, points_of(place_taken, c, cfg), cfg, now, { id = id, cost = cost,
          points = taken, free = 0, known = 0, reset = 0, exhausted = 0 })
      end
      o.out = max(o.out - 1, 0)
      gone[#gone + 1] = field
    end
  end
end
local ended = #gone
for field in pairs(fields) do
  local kind = string.sub(field, 1, 1)
  if kind == 'x' and now >= o.assumed_until then
    gone[#gone + 1] = field
  elseif kind == 'p' then
    local bucket = bucket_of(field)
    local cfg = configs[bucket]
    local p = cfg and points_of(field, count_of(bucket, cfg), cfg)
    if p then
      expire_points(p, cfg.period, now)
    end
    if not p or p.inflight + p.spent == 0 then
      gone[#gone + 1] = field
      gone[#gone + 1] = 's' .. string.sub(field, 2)
      points[field] = nil
    end
  end
end
for i = 1, #gone, 500 do
  redis.call('HDEL', KEYS[1], unpack(gone, i, min(i + 499, #gone)))
end
o.sweep_at = next_sweep
local changes = {}
add_owner(changes, o)
for _, p in pairs(points) do
  add_points(changes, p)
end
for bucket, c in pairs(counts) do
  add_count(changes, bucket, c)
end
for i = 1, #changes, 500 do
  redis.call('HSET', KEYS[1], unpack(changes, i, min(i + 499, #changes)))
end
return ended
