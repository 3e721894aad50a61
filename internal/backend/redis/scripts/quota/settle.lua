-- Gives back a batch of permits of one owner, bucket and endpoint. One that
-- is not held, as it was given back before, changes no count; what the
-- upstream said is learnt all the same.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  b:<bucket>
-- ARGV[3]  p:<bucket>\0<endpoint>
-- ARGV[4]  the configuration, as read_config reads it
-- ARGV[5]  the highest sequence that the caller has seen of the owner, a double,
--          and what is given back, fifteen doubles each, as read_answer reads them
-- ARGV[6…] the permits, in the same order
--
-- Returns an empty array when nothing is known about the owner that can be
-- believed. Otherwise now, and for every permit 1 if a rebuild needs to know what changed with it,
-- else 0; and, if any is 1: sequence, limit, reset, started, parked.

local ANSWER = '<ddddddddddddddd'

local function read_answer(text, at)
  local id, cost, points, granted, free, known, limit, remaining, reset, date, actual,
    exhausted, retry_after, backoff, succeeded = unpack_record(ANSWER, text, at)
  return { id = id, cost = cost, points = points, granted = granted, free = free,
    known = known, limit = limit, remaining = remaining, reset = reset, date = date,
    actual = actual, exhausted = exhausted, retry_after = retry_after,
    backoff = backoff, succeeded = succeeded }
end

local o, cfg = read_owner(raw[1], raw[2]), read_config(ARGV[4])
o.checked = now
local c = raw[3] and read_count(raw[3], raw[4]) or new_count(cfg)
local p = cfg.points > 0 and read_points(raw[5], ARGV[3], c)
local gone, marks = {}, {}
lay_ghosts(o, c, cfg, now)

-- returns_from_before tells whether a permit is one of those that were out
-- when the state was lost. It is given back as what it was assumed to be.
local function returns_from_before(r, permit)
  if r.id == 0 or r.id > o.first or c.ghosts == 0 or now >= o.assumed_until then
    return false
  end
  if marks[permit] or redis.call('HEXISTS', KEYS[1], 'x' .. permit) == 1 then
    return false
  end
  marks[permit] = true
  r.cost = min(r.cost, c.ghosts)
  c.ghosts = c.ghosts - r.cost
  return true
end

-- take_back ends one permit and reports whether a rebuild must know.
local function take_back(r, permit, held)
  local reset, limit, hold, parked = c.reset, c.limit, c.hold, o.parked
  observe(o, r.date, r.granted, now)
  pass_gate(o, now, r)
  r.reset = plausible(o, cfg, now, r.reset)
  local proven = false
  if held and not gone[permit] then
    gone[permit] = true
    gone[#gone + 1] = permit
    o.out = max(o.out - 1, 0)
    give_back(o, c, p, cfg, now, r)
    -- Its call was made, so the window it was granted with is stored.
    proven = c.unsaved == 1 and r.free == 0 and r.id > c.carried
  elseif returns_from_before(r, permit) then
    give_back(o, c, p, cfg, now, r)
  else
    advance(o, c, cfg, now)
    learn(o, c, cfg, now, r)
  end
  if proven then
    c.unsaved = 0
  end
  return proven or c.reset > 0 and c.reset ~= reset or c.hold > 0 and c.hold ~= hold
    or c.limit ~= limit or o.parked ~= parked
end

local reply = { now }
local store = false
for i = 6, #ARGV do
  local changed = take_back(read_answer(ARGV[5], (i - 6) * 120 + 9), ARGV[i], raw[i])
  store = store or changed
  reply[#reply + 1] = changed and 1 or 0
end
if store then
  add_window(reply, o, c, cfg)
end
keep_alive(o, now, cfg.ttl)
if #gone > 0 then
  redis.call('HDEL', KEYS[1], unpack(gone))
end
local changes = {}
for permit in pairs(marks) do
  changes[#changes + 1] = 'x' .. permit
  changes[#changes + 1] = ''
end
add_owner(changes, o)
add_count(changes, ARGV[2], c)
if p then
  add_points(changes, p)
end
redis.call('HSET', KEYS[1], unpack(changes))
return reply
