-- Creates the state of an owner that nothing is known about, from what is
-- stored. A stored window that is not over is taken for spent: how much of it
-- was used is lost. Calls of before the loss may still be under way; as many
-- as the owner may have in flight, dear ones, are taken to be.
--
-- KEYS[1]  the owner
-- ARGV[1]  the clock of a test, '' for the server's
-- ARGV[2]  the highest sequence known
-- ARGV[3]  a configuration, of any bucket
-- ARGV[4…] for every stored window: b:<bucket>, its configuration, and four
--          doubles: limit, reset, started, parked
--
-- Returns 1 if the state was created, 0 if somebody else did.

local LONGEST_CALL = 30 * SECOND
local DEAR_CALL = 4

if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
local now = clock(ARGV[1])
local common = read_config(ARGV[3])
local sequence = max(now, tonumber(ARGV[2]) + 1)
local o = { sequence = sequence, out = 0, parked = 0, refresh_at = 0, sweep_at = now + common.life,
  first = sequence, assumed_until = now + LONGEST_CALL, known = 0, ahead = 0, slack = 0,
  old_known = 0, old_ahead = 0, old_slack = 0, since = 0 }

-- restore_count continues a stored window, as quota.RestoreCount does; false
-- if it says nothing about the present any more.
local function restore_count(cfg, limit, reset, started)
  local c = new_count(cfg)
  c.newest, c.carried = sequence, sequence
  if limit > 0 then
    c.limit, c.assumed = limit, 0
  end
  c.ghosts = cfg.concurrency > 0 and min(cfg.concurrency * DEAR_CALL, c.limit) or c.limit
  c.inflight = c.ghosts
  if reset == 0 then
    if started == 0 then
      return false
    end
    c.blind, c.unsaved, c.left, c.assumed = 1, 0, 0, 1
    c.started, c.answered = started, now
  elseif now < reset then
    c.blind, c.unsaved, c.left = 1, 0, 0
    c.hold, c.started = reset, now
  elseif now < reset + cfg.window + 2 * SECOND then
    c.left = c.limit - c.ghosts
    c.started, c.answered = now, now
  else
    return false
  end
  return c
end

local changes = {}
for i = 4, #ARGV, 3 do
  local cfg = read_config(ARGV[i + 1])
  local limit, reset, started, parked = unpack_record('<dddd', ARGV[i + 2])
  if parked > now then
    o.parked = max(o.parked, parked)
  end
  local c = restore_count(cfg, limit, reset, started)
  local at = reset > 0 and min(now, reset + LONGEST_CALL) or now
  local dense = cfg.points > 0 and (reset > 0 or started > 0) and now < at + cfg.period
  if c or dense then
    c = c or new_count(cfg)
    if dense then
      c.presumed, c.presumed_at = cfg.points, at
    end
    add_count(changes, ARGV[i], c)
  end
end
redis.call('HSET', KEYS[1], 'o', '')
keep_alive(o, now, common.ttl)
add_owner(changes, o)
redis.call('HSET', KEYS[1], unpack(changes))
return 1
