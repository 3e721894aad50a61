-- The points of endpoints; it follows the sliding counts of the keeper of rations.

-- read_points reads an endpoint's points; text may be false. What nothing is
-- known about has spent what is presumed of before a loss.
local function read_points(text, field, c)
  if text then
    local inflight, spent, oldest, first, last, newest = unpack_record(POINTS, text)
    return { field = field, inflight = inflight, spent = spent, oldest = oldest,
      first = first, last = last, newest = newest }
  end
  local at = c.presumed > 0 and c.presumed_at or 0
  return { field = field, inflight = 0, spent = c.presumed, oldest = 0,
    first = at, last = at, newest = c.presumed }
end

-- in_last_slot says whether points that are spent at an instant fall into the newest slot.
local function in_last_slot(p, period, at)
  local grain = max(math.floor(period / POINT_SLOTS), 1)
  return math.floor(p.last / grain) == math.floor(at / grain) or p.last > at
end

local function slots_field(p)
  return 's' .. string.sub(p.field, 2)
end

-- slots_of reads the older slots, which only a period that turns over or a
-- refusal needs.
local function slots_of(p)
  if not p.slots then
    local text = p.oldest > 0 and redis.call('HGET', KEYS[1], slots_field(p))
    p.slots = text and cmsgpack.unpack(text) or {}
  end
  return p.slots
end

local function expire_points(p, period, now)
  if p.newest > 0 and p.last > now then
    p.slots, p.oldest, p.moved = {}, 0, true
    p.first, p.last, p.newest = now, now, p.spent
    return
  end
  if p.oldest > 0 and p.oldest + period <= now then
    local slots, kept = slots_of(p), {}
    local i = 1
    while slots[i] and slots[i] + period <= now do
      p.spent = p.spent - slots[i + 1]
      i = i + 2
    end
    for j = i, #slots do
      kept[#kept + 1] = slots[j]
    end
    p.slots, p.oldest, p.moved = kept, kept[1] or 0, true
  end
  if p.oldest == 0 and p.newest > 0 and p.last + period <= now then
    p.spent = p.spent - p.newest
    p.first, p.last, p.newest = 0, 0, 0
  end
end

-- add_points adds what is to be written of an endpoint's points. The older
-- slots are written only if they changed.
local function add_points(changes, p)
  local n = #changes
  changes[n + 1] = p.field
  changes[n + 2] = pack(POINTS, p.inflight, p.spent, p.oldest, p.first, p.last, p.newest)
  if not p.moved then
    return
  end
  if p.oldest == 0 then
    redis.call('HDEL', KEYS[1], slots_field(p))
  else
    changes[n + 3] = slots_field(p)
    changes[n + 4] = cmsgpack.pack(p.slots)
  end
end
