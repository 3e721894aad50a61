-- What every script of the quota keeper shares: how the state of an owner is
-- written down, and the arithmetic that granting needs. It follows package
-- keeper of internal/ration (dated.go, dated_settle.go, count.go, gate.go, skew.go) rule
-- by rule, as quota/bucketed draws on rations; the reasons are told there.
--
-- All that is known about one owner is one hash, so that it vanishes as a
-- whole or not at all:
--   o                  the owner: sequence, permits out, parking, and the server
--                      that wrote it
--   w                  the rest of it: the skew, and what is of before a loss
--   b:<bucket>         the count of a bucket, as far as granting needs it
--   c:<bucket>         the rest of it
--   p:<bucket>\0<end>  the points of an endpoint: totals and the newest slot
--   s:<bucket>\0<end>  its older slots, oldest first: last, points, ...
--   x<permit>          a permit of before a loss that was given back
--   <permit>           a permit that is out: granted at, cost, points, p:...
-- A permit is its number in eight bytes, of which the first is zero.
--
-- A server that was started again, or a replica that took over, may have an older
-- state than the last: whatever another server wrote, and whatever has a lower
-- sequence than a caller has seen, is taken for lost. Which server this is takes
-- as long to find out as all the rest; no server starts within 10 ms, so that what
-- was checked less than 10 ms ago is its own. What was written by a clock
-- that was set back since by more than the life of a permit shows in a sweep that
-- is due later than any is; restore.lua brings it to the clock as it is.
--
-- Times are microseconds since 1970, 0 where there is none;
-- durations are microseconds too. Records are doubles, which hold 2^53.

local UNREPORTED = 9007199254740992
local SECOND = 1000000
local SETTLE_SOON = 250000 -- Soon
local RESET_MARGIN = 20000 -- resetMargin
local RESTORED_SLACK = 30 * SECOND -- storedSlack
local RESET_SLACK = 60 * SECOND -- resetSlack
local RESET_JITTER = SECOND -- resetJitter
local POINT_SLOTS = 64 -- Slots
local ASSUMED_ROOM = 10 -- assumedRoom
local LONGEST_PARK = 7200 * SECOND -- LongestPark
local FIRST_BACKOFF, LONGEST_BACKOFF = 60 * SECOND, 960 * SECOND -- firstDelay, longestDelay

-- Why a caller has to wait; 0 and 1 are grants.
local PRIMARY, FLOOR, CONCURRENCY, POINTS_SPENT, RETRY_AFTER, BACKOFF, TRIAL, FLOOR_ALL =
  2, 3, 4, 5, 6, 7, 8, 9

local OWNER, OWNER_REST = '<ddddddddddddd', '<ddddddddd'
local OWNER_SIZE = 104 -- what has another was written by another version
local COUNT, COUNT_REST = '<dddddddddddddddddd', '<dddddddddd'
local POINTS = '<dddddd'
local CONFIG = '<dddddddd'
local PERMIT = '>I8'

local max, min = math.max, math.min
local pack, unpack_record = struct.pack, struct.unpack

-- clock is the server's; a text is the hand-driven clock of a test.
local function clock(text)
  if text ~= '' then
    return tonumber(text)
  end
  local t = redis.call('TIME')
  return t[1] * SECOND + t[2]
end

-- server_id is a number for as long as this server runs.
local function server_id()
  local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  return tonumber(string.sub(run_id, 1, 13), 16)
end

local function read_config(text)
  local limit, window, floor, points, period, concurrency, life, ttl = unpack_record(CONFIG, text)
  return { limit = limit, window = window, floor = floor, points = points, period = period,
    concurrency = concurrency, life = life, ttl = ttl }
end

-- first is the sequence before the first permit of this state, assumed_until
-- the instant by which calls of before a loss have ended. why, half, pilot,
-- closed and strikes are those of keeper.Gate.
local function read_owner(text, rest)
  local sequence, out, parked, refresh_at, sweep_at, _, server, why, half, pilot, closed, strikes,
    checked = unpack_record(OWNER, text)
  local first, assumed_until, known, ahead, slack, old_known, old_ahead, old_slack, since =
    unpack_record(OWNER_REST, rest)
  return { sequence = sequence, out = out, parked = parked, refresh_at = refresh_at,
    sweep_at = sweep_at, server = server, why = why, half = half, pilot = pilot, closed = closed,
    strikes = strikes, checked = checked, first = first, assumed_until = assumed_until, known = known, ahead = ahead,
    slack = slack, old_known = old_known, old_ahead = old_ahead, old_slack = old_slack,
    since = since }
end

-- best_ahead is by how much the upstream's clock is certainly ahead.
local function best_ahead(o)
  if o.old_known == 1 and o.old_ahead > o.ahead then
    return o.old_ahead
  end
  return o.ahead
end

-- add_owner adds what is to be written of an owner.
local function add_owner(changes, o)
  local n = #changes
  changes[n + 1] = 'o'
  changes[n + 2] = pack(OWNER, o.sequence, o.out, o.parked, o.refresh_at, o.sweep_at, best_ahead(o),
    o.server, o.why, o.half, o.pilot, o.closed, o.strikes, o.checked)
  changes[n + 3] = 'w'
  changes[n + 4] = pack(OWNER_REST, o.first, o.assumed_until, o.known, o.ahead, o.slack,
    o.old_known, o.old_ahead, o.old_slack, o.since)
end

-- rest_of names the field with the rest of a bucket's count.
local function rest_of(field)
  return 'c' .. string.sub(field, 2)
end

-- Beyond the count of the keeper: unsaved while no call of the window has proven that the
-- window is stored; blind after a loss, when the ledger (left) is not known;
-- ghosts, the part of inflight that is assumed of before a loss; presumed, the
-- points that every endpoint is taken to have spent at presumed_at.
local function read_count(text, rest)
  local left, inflight, newest, started, reported, lost, lost_next, limit, kept, unsaved, blind,
    ghosts, reset, hold, answered, trial, rest_left, tried = unpack_record(COUNT, text)
  local assumed, opened, lost_after, lost_next_after, late, carried, anchor, previous, presumed,
    presumed_at = unpack_record(COUNT_REST, rest)
  return { limit = limit, assumed = assumed, left = left, reported = reported, opened = opened,
    inflight = inflight, lost = lost, lost_next = lost_next, lost_after = lost_after,
    lost_next_after = lost_next_after, late = late, newest = newest, carried = carried,
    reset = reset, anchor = anchor, previous = previous, hold = hold, started = started,
    answered = answered, kept = kept, unsaved = unsaved, blind = blind, ghosts = ghosts,
    presumed = presumed, presumed_at = presumed_at, trial = trial, rest = rest_left, tried = tried }
end

-- add_count adds what is to be written of a bucket's count.
local function add_count(changes, field, c)
  local n = #changes
  changes[n + 1] = field
  changes[n + 2] = pack(COUNT, c.left, c.inflight, c.newest, c.started, c.reported, c.lost,
    c.lost_next, c.limit, c.kept, c.unsaved, c.blind, c.ghosts, c.reset, c.hold, c.answered,
    c.trial, c.rest, c.tried)
  changes[n + 3] = rest_of(field)
  changes[n + 4] = pack(COUNT_REST, c.assumed, c.opened, c.lost_after, c.lost_next_after, c.late,
    c.carried, c.anchor, c.previous, c.presumed, c.presumed_at)
end

local function new_count(cfg)
  return { limit = cfg.limit, assumed = 1, left = cfg.limit, reported = UNREPORTED,
    opened = UNREPORTED, inflight = 0, lost = 0, lost_next = 0, lost_after = 0,
    lost_next_after = 0, late = 0, newest = 0, carried = 0, reset = 0, anchor = 0,
    previous = 0, hold = 0, started = 0, answered = 0, kept = 0, unsaved = 1, blind = 0,
    ghosts = 0, presumed = 0, presumed_at = 0, trial = 0, rest = 0, tried = 0 }
end

-- keep_alive lets the state outlive its windows and its parking, and writes
-- that down only when less than half of its life is left.
local function keep_alive(o, now, ttl)
  if now >= o.refresh_at then
    redis.call('PEXPIRE', KEYS[1], math.ceil((ttl + max(o.parked - now, 0)) / 1000))
    o.refresh_at = now + math.floor(ttl / 2)
  end
end

-- Skew ----------------------------------------------------------------------

local function latest(o, t)
  return t + RESET_MARGIN - best_ahead(o)
end

local function earliest(o, t)
  if o.old_known == 1 and o.old_ahead > o.ahead then
    return t - o.old_ahead - o.old_slack
  end
  return t - o.ahead - (o.known == 1 and o.slack or SECOND)
end

-- Windows -------------------------------------------------------------------

local function window_end(o, c, cfg)
  if c.reset > 0 then
    return max(latest(o, c.reset), c.hold)
  elseif c.hold > 0 then
    return c.hold
  elseif c.answered > 0 then
    return c.answered + cfg.window + SECOND
  end
  return nil
end

local function open(c, left)
  if c.reset > 0 then
    c.previous = c.reset
  end
  c.left, c.reported, c.opened = left, UNREPORTED, UNREPORTED
  c.reset, c.anchor, c.hold = 0, 0, 0
  c.started, c.answered = 0, 0
  c.late = 0
  c.carried = c.newest
  c.unsaved, c.blind = 1, 0
end

-- available trusts the smaller of two bounds. Nothing is left of a blind
-- window until a header tells.
local function available(c)
  if c.reported == UNREPORTED then
    return c.blind == 1 and 0 or c.left
  end
  local told = c.reported - c.inflight - c.lost - c.lost_next
  return c.blind == 1 and told or min(c.left, told)
end

-- Trials --------------------------------------------------------------------

local function doubt(c)
  c.tried = 0
  if c.trial == 0 then
    c.trial, c.rest = 1, max(available(c), 0)
  end
end

local function believe(c)
  c.trial, c.rest, c.tried = 0, 0, 0
end

local function returned(c, r)
  if r.id <= c.carried then
    return
  end
  c.tried = max(c.tried - 1, 0)
  if r.succeeded == 1 and r.known == 0 then
    believe(c)
  end
end

-- furthest is the latest instant at which a window can end that has begun.
local function furthest(cfg, now)
  return now + 2 * cfg.window + RESET_SLACK
end

-- confine ends a window one length from now that would last longer than any
-- does, and reports that.
local function confine(o, c, cfg, now)
  local finish = window_end(o, c, cfg)
  if not finish or finish <= furthest(cfg, now) then
    return false
  end
  c.reset, c.anchor, c.hold = 0, 0, now + cfg.window
  return true
end

-- turn begins the window after this one, on the word of the clock.
local function turn(c, now)
  local late = c.late
  doubt(c)
  open(c, c.limit - c.inflight - late)
  if c.inflight + late > 0 then
    c.started = now
  end
  if late > 0 then
    c.answered = now
  end
end

-- advance begins a new window if the old one has ended, and reports whether
-- anything changed.
local function advance(o, c, cfg, now)
  local confined = confine(o, c, cfg, now)
  local finish = window_end(o, c, cfg)
  if not finish or now < finish then
    return confined
  end
  turn(c, now)
  return true
end

-- lose ends a call without an answer, without looking at what else it said.
local function lose(o, c, now, cost)
  local ending = nil
  if c.reset > 0 then
    ending = earliest(o, c.reset)
  elseif c.hold > 0 then
    ending = c.hold - RESTORED_SLACK
  end
  if ending and now >= ending then
    c.late = c.late + cost
  end
  c.answered = now
  if c.lost == 0 then
    c.lost, c.lost_after = cost, c.newest
  else
    c.lost_next, c.lost_next_after = c.lost_next + cost, c.newest
  end
end

-- lay_ghosts takes calls of before a loss that nobody gave back in time for
-- made and without an answer.
local function lay_ghosts(o, c, cfg, now)
  if c.ghosts == 0 or now < o.assumed_until then
    return false
  end
  local cost = c.ghosts
  advance(o, c, cfg, o.assumed_until)
  c.inflight, c.ghosts = max(c.inflight - cost, 0), 0
  lose(o, c, o.assumed_until, cost)
  return true
end

local function floor_of(c, cfg)
  if c.kept > 0 and c.kept >= c.limit and c.assumed == 1 then
    return c.limit - min(ASSUMED_ROOM, math.floor((c.limit + 1) / 2))
  end
  if c.kept > 0 then
    return c.kept
  end
  if c.limit >= cfg.limit or cfg.limit <= 0 then
    return cfg.floor
  end
  return math.floor(cfg.floor * c.limit / cfg.limit)
end

-- Gate ----------------------------------------------------------------------

-- gate_refusal says why and until when no call may go; nil if one may. A park
-- that lasts too long is shortened.
local function gate_refusal(o, now)
  o.parked = min(o.parked, now + LONGEST_PARK)
  if now < o.parked then
    return o.why, o.parked
  end
  if o.half == 1 and o.pilot ~= 0 then
    return TRIAL, now + SETTLE_SOON
  end
  return nil
end

-- add_window adds the durable form of a window to a reply.
local function add_window(reply, o, c, cfg)
  local n = #reply
  o.sequence = o.sequence + 1
  reply[n + 1], reply[n + 2] = o.sequence, c.limit
  reply[n + 3] = (c.reset > 0 or c.hold > 0) and window_end(o, c, cfg) or 0
  reply[n + 4], reply[n + 5] = c.started, o.parked
end
