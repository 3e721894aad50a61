-- Creates the state of an owner that nothing is known about that can be
-- believed, from what is stored and from what an older state still tells. A
-- window that is not over is taken for spent: how much of it was used is lost.
-- Calls of before the loss may still be under way; as many as the owner may have
-- in flight, dear ones, are taken to be.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  the highest sequence known
-- ARGV[3]  a configuration, of any bucket
-- ARGV[4]  the time by the clock of the caller, which the stored windows go by
-- ARGV[5…] for every bucket: b:<bucket>, its configuration, and four doubles of
--          the stored window: limit, reset, started, parked; zeros if none is
--
-- Returns 1 if the state was created, 0 if there is one that can be believed; one
-- that was written by a clock that was set back is brought to the clock as it is.

local LONGEST_CALL = 30 * SECOND
local DEAR_CALL = 4

local now, highest, server = clock(ARGV[1]), tonumber(ARGV[2]), server_id()
local common, ahead = read_config(ARGV[3]), now - tonumber(ARGV[4])
local fields = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  fields[all[i]] = all[i + 1]
end
local old = fields.o and #fields.o == OWNER_SIZE and read_owner(fields.o, fields.w)
local believed = old and old.server == server and old.sequence >= highest
-- A sweep that is due later than any is shows that the clock was set back.
local behind = old and max(old.sweep_at - common.life - now, 0) or 0

-- earlier is an instant by the clock as it is now.
local function earlier(at) return at > 0 and max(at - behind, 1) or 0 end

-- rebase moves all that was written by the clock before to the clock as it is
-- now, or later: how far it was set back is known up to the life of a permit.
local function rebase()
  local changes = {}
  for field, value in pairs(fields) do
    if string.byte(field) == 0 then
      local granted, cost, points, rest = unpack_record('<ddd', value)
      changes[#changes + 1] = field
      changes[#changes + 1] = pack('<dddc0', min(granted, now), cost, points, string.sub(value, rest))
    elseif string.sub(field, 1, 2) == 'b:' then
      local c = read_count(value, fields[rest_of(field)])
      c.hold, c.started, c.answered, c.presumed_at =
        earlier(c.hold), earlier(c.started), earlier(c.answered), earlier(c.presumed_at)
      add_count(changes, field, c)
    end
  end
  old.parked, old.assumed_until, old.refresh_at, old.sweep_at = earlier(old.parked), earlier(old.assumed_until), 0, now
  old.ahead, old.old_ahead, old.since = old.ahead + behind, old.old_ahead + behind, min(old.since, now)
  add_owner(changes, old)
  for i = 1, #changes, 500 do
    redis.call('HSET', KEYS[1], unpack(changes, i, min(i + 499, #changes)))
  end
end

if believed then
  if behind > 0 then rebase() end
  return 0
end
redis.call('DEL', KEYS[1])

local sequence = max(now, highest + 2, old and old.sequence + 1 or 0)
local o = { sequence = sequence, out = 0, parked = 0, refresh_at = 0, sweep_at = now + common.life,
  server = server, why = 0, half = 0, pilot = 0, closed = 0, strikes = old and old.strikes or 0, checked = now,
  first = sequence, assumed_until = now + LONGEST_CALL, known = 0, ahead = 0, slack = 0,
  old_known = 0, old_ahead = 0, old_slack = 0, since = 0 }

-- restore_count continues a window, as restoreDated of the keeper does.
local function restore_count(cfg, limit, reset, started)
  local c = new_count(cfg)
  c.newest, c.carried, c.trial = sequence, sequence, 1
  if limit > 0 then
    c.limit, c.assumed = limit, 0
  end
  local ghosts = cfg.concurrency > 0 and min(cfg.concurrency * DEAR_CALL, c.limit) or c.limit
  if reset > furthest(cfg, now) then
    reset = now + cfg.window
  end
  if reset == 0 and started == 0 then
    ghosts = 0
  elseif reset == 0 then
    c.blind, c.unsaved, c.left, c.assumed = 1, 0, 0, 1
    c.started, c.answered = started, now
  elseif now < reset then
    c.blind, c.unsaved, c.left, c.trial = 1, 0, 0, 0
    c.hold, c.started = reset, now
  elseif now < reset + max(cfg.window + 2 * SECOND, LONGEST_CALL) then
    -- A call of that window, or of one that it was followed by, may be under way.
    c.left = c.limit - ghosts
    c.started, c.answered = now, now
  else
    ghosts = 0
  end
  c.left = ghosts == 0 and c.limit or c.left
  c.ghosts, c.inflight = ghosts, ghosts
  return c
end

-- recall adds to what is stored of a window what the older state tells.
local function recall(field, cfg, limit, reset, started)
  if not old or behind > 0 or not fields[field] then
    return limit, reset, started
  end
  local c = read_count(fields[field], fields[rest_of(field)])
  local finish = (c.reset > 0 or c.hold > 0) and window_end(old, c, cfg) or 0
  if finish == 0 and c.started == 0 then
    return limit, reset, started
  end
  return limit > 0 and limit or c.limit, max(reset, finish), max(started, c.started)
end

-- here is a stored instant by the server's clock.
local function here(at) return at > 0 and at + ahead or 0 end

local changes = {}
local parked_until = old and behind == 0 and old.parked or 0
for i = 5, #ARGV, 3 do
  local cfg = read_config(ARGV[i + 1])
  local limit, reset, started, parked = unpack_record('<dddd', ARGV[i + 2])
  reset, started = here(reset), here(started)
  parked_until = max(parked_until, here(parked))
  limit, reset, started = recall(ARGV[i], cfg, limit, reset, started)
  if limit > 0 then
    local c = restore_count(cfg, limit, reset, started)
    local at = reset > 0 and min(now, reset + LONGEST_CALL) or now
    if cfg.points > 0 and (reset > 0 or started > 0) and now < at + cfg.period then
      c.presumed, c.presumed_at = cfg.points, at
    end
    add_count(changes, ARGV[i], c)
  end
end
if parked_until > now then
  o.parked, o.why, o.half = min(parked_until, now + LONGEST_PARK), RETRY_AFTER, 1
end
redis.call('HSET', KEYS[1], 'o', '')
keep_alive(o, now, common.ttl)
add_owner(changes, o)
redis.call('HSET', KEYS[1], unpack(changes))
return 1
