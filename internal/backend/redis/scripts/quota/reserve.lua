-- Grants or refuses a batch of asks of one owner, bucket and endpoint.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  b:<bucket>
-- ARGV[3]  p:<bucket>\0<endpoint>
-- ARGV[4]  the configuration, as read_config reads it
-- ARGV[5]  the highest sequence that the caller has seen of the owner, a double,
--          and the asks, three doubles each: cost, points, floor
--
-- Returns an empty array when nothing is known about the owner that can be
-- believed. Otherwise now, 1 if permits are due to be swept else 0, and for every ask two numbers:
--   0 and the permit; 1 and the permit, if the window is to be stored first;
--   or a reason (2 primary, 3 floor, 4 concurrency, 5 points, 6 retry after,
--   7 backoff, 8 trial, 9 a floor that keeps all) and when to ask again;
-- and, if a window is to be stored: sequence, limit, reset, started, parked.

-- lacking is nil if there are so many points, else when there may be.
local function lacking(p, cfg, now, n)
  expire_points(p, cfg.period, now)
  local excess = p.inflight + p.spent + n - cfg.points
  if excess <= 0 then
    return nil
  end
  local slots = slots_of(p)
  for i = 1, #slots, 2 do
    excess = excess - slots[i + 1]
    if excess <= 0 then
      return slots[i] + cfg.period
    end
  end
  if p.newest > 0 and excess - p.newest <= 0 then
    return p.last + cfg.period
  end
  return now + cfg.period
end

-- refusal is nil if the window has this much, else why not and until when.
local function refusal(o, c, cfg, now, cost)
  local floor, left = floor_of(c, cfg), available(c)
  if left - floor >= cost then
    if c.trial == 1 and c.tried > 0 and c.rest - floor < cost then
      return TRIAL, now + SETTLE_SOON
    end
    return nil
  end
  local at = window_end(o, c, cfg) or now + cfg.window
  if c.inflight > 0 then
    local most = c.reported
    if c.blind == 0 then
      most = min(c.left + c.inflight, c.reported)
    elseif c.reported == UNREPORTED then
      most = 0
    end
    if most - floor >= cost then
      at = min(at, now + SETTLE_SOON)
    end
  end
  if c.blind == 1 and c.ghosts > 0 then
    -- By then the answers to calls of before the loss have told what is left.
    at = min(at, o.assumed_until)
  end
  if floor > 0 and c.limit - floor < cost and c.limit >= cost then
    return FLOOR_ALL, at
  end
  return left >= cost and FLOOR or PRIMARY, at
end

local cfg = read_config(ARGV[4])
local rests = redis.call('HMGET', KEYS[1], 'w', rest_of(ARGV[2]))
local o = read_owner(raw[1], rests[1])
o.checked = now
local c = raw[2] and read_count(raw[2], rests[2]) or new_count(cfg)
local p = cfg.points > 0 and read_points(raw[3], ARGV[3], c)
local dirty = not raw[2]
if lay_ghosts(o, c, cfg, now) then
  dirty = true
end

-- decide checks everything before it takes anything. Of several that refuse it tells the
-- one that refuses for longest.
local function decide(cost, points, floor)
  local parked = o.parked
  local closed, till = gate_refusal(o, now)
  dirty = dirty or o.parked ~= parked
  if closed then
    return closed, till
  end
  if c.kept ~= floor then
    c.kept, dirty = floor, true
  end
  if advance(o, c, cfg, now) then
    dirty = true
  end
  local longest, reason = 0, nil
  local function refuse(why, at)
    at = max(at or 0, now + 1000)
    if why and at > longest then
      longest, reason = at, why
    end
  end
  if cfg.concurrency > 0 and o.out >= cfg.concurrency then
    refuse(CONCURRENCY, now + SETTLE_SOON)
  end
  local until_points = p and lacking(p, cfg, now, points)
  if until_points then
    refuse(POINTS_SPENT, until_points)
  end
  refuse(refusal(o, c, cfg, now, cost))
  if reason then
    return reason, longest
  end
  if p then
    p.inflight = p.inflight + points
  end
  c.left = c.left - cost
  c.inflight = c.inflight + cost
  o.sequence = o.sequence + 1
  c.newest = o.sequence
  if c.started == 0 then
    c.started = now
  end
  o.out = o.out + 1
  if c.trial == 1 then
    c.tried, c.rest = c.tried + 1, c.rest - cost
  end
  if o.half == 1 then
    o.pilot = c.newest
  end
  return c.unsaved, c.newest
end

local reply = { now, now >= o.sweep_at and 1 or 0 }
local changes = {}
local store = false
for i = 9, #ARGV[5], 24 do
  local cost, points, floor = unpack_record('<ddd', ARGV[5], i)
  local what, value = decide(cost, points, floor)
  if what <= 1 then
    changes[#changes + 1] = pack(PERMIT, value)
    changes[#changes + 1] = pack('<dddc0', now, cost, points, ARGV[3])
    store = store or what == 1
  else
    value = max(value, now + 1000)
  end
  reply[#reply + 1] = what
  reply[#reply + 1] = value
end
if store then
  add_window(reply, o, c, cfg)
end
if #changes == 0 and not dirty and not (p and p.moved) then
  return reply
end
keep_alive(o, now, cfg.ttl)
add_owner(changes, o)
add_count(changes, ARGV[2], c)
if p then
  add_points(changes, p)
end
redis.call('HSET', KEYS[1], unpack(changes))
return reply
