-- The arithmetic of a count and of a gate. It follows keeper.Count and keeper.Gate
-- (count.go, settle.go, bucket.go, gate.go of internal/ration/keeper) rule by rule; the
-- reasons are told there.

local function cost_time(t, n)
  return ceil(n * t.period / t.refill)
end

local function comes_back(t, limit)
  if t.shape == BUCKET then
    return cost_time(t, limit)
  end
  return t.period
end

local function usable(t, limit, low)
  local keep, reserve = t.keep, t.reserve
  if t.assumed == 0 and limit < t.limit then
    keep, reserve = floor(keep * limit / t.limit), floor(reserve * limit / t.limit)
  end
  local n = floor(limit * t.use / 100) - keep
  if low then
    n = min(n - reserve, floor(limit * t.low / 100))
  end
  if t.assumed == 1 and limit == t.limit then
    n = max(n, 1)
  end
  return max(n, 0)
end

local function margin(t)
  return min(SECOND, floor(t.period / 50))
end

local function granted(c, t)
  if c.dated then
    return c.dated.limit
  end
  if c.limit > 0 then
    return c.limit
  end
  return t.limit
end

-- chunk is how much is stored ahead.
local function chunk(t, limit)
  if t.ahead > 0 then
    return t.ahead
  elseif comes_back(t, limit) > 600 * SECOND then
    return max(floor(limit / 100), 1)
  end
  return max(floor(limit / 10), 1)
end

-- owed is how many parts a bucket is owed at an instant.
local function owed(c, t, at)
  if at > c.full then
    return 0
  end
  return (c.full - at) * t.refill + c.rest
end

local function owe(c, t, at, parts)
  local whole = floor(parts / t.refill)
  local rest = parts - whole * t.refill
  if parts >= EXACT then
    whole, rest = ceil(parts / t.refill), 0
  elseif rest < 0 then
    whole, rest = whole - 1, rest + t.refill
  elseif rest >= t.refill then
    whole, rest = whole + 1, rest - t.refill
  end
  c.full, c.rest = at + whole, rest
end

local function used(c, t)
  if c.dated then
    return dated_used(c.dated)
  end
  if t.shape == BUCKET then
    return c.inflight + ceil(owed(c, t, now) / t.period)
  end
  return c.inflight + c.spent
end

local function lost(c)
  return c.lost + c.next
end

local function confirm(c, id)
  for _ = 1, 2 do
    if c.lost > 0 and id > c.after then
      c.lost, c.after, c.next, c.next_after = c.next, c.next_after, 0, 0
    end
  end
end

local function add_lost(c, n)
  if c.lost == 0 then
    c.lost, c.after = n, c.newest
  else
    c.next, c.next_after = c.next + n, c.newest
  end
end

-- slots are pairs of doubles: when the last of it was spent, and how much.
local function spend(c, t, at, n)
  if n <= 0 or t.shape == CONCURRENT then
    return
  end
  if t.shape == BUCKET then
    owe(c, t, at, owed(c, t, at) + n * t.period)
    return
  end
  c.spent = c.spent + n
  local grain, size = max(floor(t.period / SLOTS), 1), #c.slots
  if size > 0 then
    local last, have = unpack_of('<dd', c.slots, size - 15)
    if floor(last / grain) == floor(at / grain) or last > at then
      c.slots = sub(c.slots, 1, size - 16) .. pack('<dd', max(last, at), have + n)
      return
    end
  end
  c.slots = c.slots .. pack('<dd', at, n)
end

-- drop forgets the slots that ended before an instant.
local function drop(c, before)
  local at, size = 1, #c.slots
  while at <= size do
    local last, n = unpack_of('<dd', c.slots, at)
    if last >= before then
      break
    end
    c.spent = c.spent - n
    at = at + 16
  end
  if at > 1 then
    c.slots = sub(c.slots, at)
  end
end

local function advance_window(c, t, left)
  if c.finish > 0 and now >= c.finish then
    drop(c, c.early)
    c.finish, c.early, c.reported = 0, 0, -1
    c.lost, c.after, c.next, c.next_after = 0, 0, 0, 0
    c.ceiling, c.covers, c.issued = 0, 0, 0
  end
  if c.finish == 0 then
    drop(c, now - t.period + 1)
    if c.reported >= 0 and c.told_at + t.period <= now then
      c.reported, c.lost, c.after, c.next, c.next_after = -1, 0, 0, 0, 0
    end
    if left > 2 * margin(t) then
      -- It is known from now on, also if nothing is drawn: close to the end nobody can tell.
      c.finish, c.early, c.changed = now + left + margin(t), now + left - margin(t), true
    end
  end
end

-- dates says whether the upstream dates the windows of a count. Terms may have changed: what
-- was taken by others stays taken.
local function dates(c, t)
  local d = c.dated
  if t.dated == 1 and not d then
    local taken = used(c, t) + c.presumed
    d = new_dated(t)
    d.inflight, d.newest, d.carried, d.left = c.inflight, c.newest, c.newest, d.left - taken
    if taken > 0 then
      d.started, d.answered = now, now
    end
    c.dated, c.slots, c.spent, c.inflight, c.presumed, c.changed = d, '', 0, 0, 0, true
  elseif t.dated == 0 and d then
    c.dated, c.inflight, c.newest, c.ceiling, c.covers, c.changed = nil, d.inflight, d.newest, 0, 0, true
    spend(c, t, now, dated_used(d) - d.inflight)
  end
  return t.dated == 1
end

local function advance(c, t, left)
  if dates(c, t) then
    advance_dated(c, c.dated, t)
    return
  end
  if c.presumed > 0 then
    local n, at = c.presumed, c.presumed_at
    c.presumed = 0
    -- Some of what was stored may be under way yet; where that is not for the answers to tell it
    -- counts from when all of it has ended.
    spend(c, t, t.patient == 1 and t.stored == 1 and at + 30 * SECOND or at, n)
  end
  if t.shape == FIXED or t.shape == SLIDING then
    advance_window(c, t, left)
  end
  if used(c, t) == 0 then
    c.lost, c.after, c.next, c.next_after = 0, 0, 0, 0
  end
end

local counts = {}
-- settling says that permits end: who asks says what stays for the owner, not they.
local settling = false
-- Where a count's presumed and whether its windows are dated are written down.
local PRESUMED_AT, DATED_AT = 5 * 8 + 1, 15 * 8 + 1

-- new_count begins to count: what comes back quickly and is not stored is taken to
-- have been spent when the group was born.
local function new_count(t)
  local c = { limit = 0, spent = 0, inflight = 0, finish = 0, early = 0, reported = -1, told = 0, told_at = 0, lost = 0,
    after = 0, next = 0, next_after = 0, newest = 0, full = 0, ceiling = 0, covers = 0, presumed = 0, presumed_at = 0,
    refill = 0, window = 0, rest = 0, low = 0, hold = 0, line = 0, issued = 0, slots = '' }
  if t and t.paced == 1 then
    if now < group.born + t.period then
      c.hold = group.born + t.period
    end
  elseif t and t.shape ~= CONCURRENT and t.limit < UNLIMITED and t.stored == 0
    and now < group.born + comes_back(t, t.limit) then
    c.presumed, c.presumed_at = t.limit, group.born
  end
  return c
end

-- flown is when calls that were under way when the group was lost have come to their ends.
local function flown()
  return group.born + 30 * SECOND
end

-- restored returns a count whose windows the upstream dates with what was stored of it. Calls
-- may be under way that the group lost: a permit that nobody holds stands for them.
local function restored(name, t)
  local text = redis.call('HGET', key, 'r:' .. name)
  if not text then
    return nil
  end
  local limit, spent, late, finish, till = unpack_of(RESTORED, text)
  local c = new_count(nil)
  local d = restore_dated(t, limit, spent, late, finish, till)
  late = finish == 0 and spent or min(late, spent)
  if late > 0 and now < till and now < flown() then
    group.sequence = group.sequence + 1
    group.sweep = min(group.sweep, flown())
    d.inflight, d.newest, c.ghost, c.flying = late, group.sequence, group.sequence, late
    -- They count in whichever window they land: a group that is lost once more has them stored.
    d.left = min(d.left, d.limit - late)
  end
  c.dated, c.changed = d, true
  return c
end

-- read_count reads a count and what the short ways have written of it since.
local function read_count(text, hot)
  local c = {}
  c.inflight, c.newest, c.spent, c.ceiling, c.covers, c.presumed, c.hold, c.limit, c.finish, c.reported,
    c.lost, c.window, c.early, c.told, c.told_at, c.after, c.next, c.next_after, c.full, c.presumed_at, c.refill, c.rest,
    c.low, c.line, c.issued = unpack_of(STATE, text)
  c.terms = sub(text, STATE_SIZE + 1, STATE_SIZE + TERMS_SIZE)
  c.slots, c.hot, c.marked = sub(text, STATE_SIZE + TERMS_SIZE + 1), hot and true, 0
  if unpack_of('<d', c.terms, DATED_AT) == 1 then
    local d = read_dated(c.slots)
    c.dated, c.slots = d, ''
    if hot then
      local _
      d.inflight, d.newest, _, c.marked, _, _, _, _, _, d.left, d.started, d.reported, d.reset = unpack_of(HOT_DATED, hot)
    end
  elseif hot and #hot == 48 then
    local _
    c.inflight, c.newest, _, c.marked = unpack_of('<dddd', hot)
  elseif hot then
    local last, have, _ = 0, 0, 0
    c.inflight, c.newest, _, c.marked, _, _, _, _, _, c.spent, last, have = unpack_of(HOT, hot)
    if have > 0 then
      c.slots = c.slots .. pack('<dd', last, have)
    end
  end
  return c
end

-- count returns a count; without terms, by those that it was counted by last.
local function count(name, t)
  local c = counts[name]
  if not c then
    local texts = redis.call('HMGET', key, 'c:' .. name, 'h:' .. name)
    local text = texts[1]
    if t and t.dated == 1 and (not text or unpack_of('<d', text, PRESUMED_AT) > 0) then
      c = restored(name, t)
      text = not c and text
    end
    if not c and text then
      c = read_count(text, texts[2])
    elseif not c and t then
      c = new_count(t)
    elseif not c then
      return nil
    end
    counts[name] = c
  end
  if t and not (settling and c.terms and c.presumed == 0 and unpack_of('<d', c.terms, DATED_AT) == t.dated) then
    c.terms = t.text
  end
  if t and c.terms == t.text then
    c.marked = t.mark
  end
  t = t or read_terms(c.terms, 1)
  adapt(c, t)
  return c, t
end

local gates = {}

local function gate(name)
  local g = gates[name]
  if not g then
    g = { till = 0, why = PARKED, half = 0, pilot = 0, since = 0, closed = 0, strikes = 0 }
    local text = redis.call('HGET', key, 'g:' .. name)
    if text then
      g.till, g.why, g.half, g.pilot, g.since, g.closed, g.strikes = unpack_of(GATE, text)
    end
    gates[name] = g
  end
  return g
end

local function close(g, wait, why)
  local till = now + min(wait, LONGEST_PARK)
  if till > g.till then
    g.till, g.why = till, why
  end
  g.half, g.closed, g.changed = 1, max(g.closed, group.sequence), true
end

-- hot is what the short ways need of a count, and its slots without the newest; nil if they
-- cannot count it, as something is to be tidied up, learnt or believed of it. Marks of those
-- that are stored are odd, and only those can be counted that have one.
local function hot(c)
  local d, mark = c.dated, c.marked or 0
  if mark == 0 or c.presumed > 0 or c.hold > 0 or d and (d.trial == 1 or d.lost > 0)
    or not d and (c.limit > 0 or c.finish > 0 or c.reported >= 0 or c.lost > 0) then
    return nil, c.slots
  end
  local t, ceiling, covers = read_terms(c.terms, 1), EXACT, EXACT
  if mark % 2 == 1 and t.stored == 1 then
    ceiling, covers = c.ceiling, c.covers
  end
  if d then
    return pack(HOT_DATED, d.inflight, d.newest, DATED_SHAPE, mark, dated_floor(d, t, false), dated_floor(d, t, true), ceiling,
      covers, t.period, d.left, d.started, d.reported, d.reset, d.limit, d.hold,
      d.answered > 0 and d.answered + t.period + RESET_STEP or 0, d.carried, d.anchor, d.assumed,
      ceiling == EXACT and EXACT or 4 * chunk(t, d.limit))
  end
  if t.shape == CONCURRENT then
    return pack('<dddddd', c.inflight, c.newest, t.shape, mark, usable(t, t.limit, false), usable(t, t.limit, true)), c.slots
  end
  local last, have, oldest, older = 0, 0, 0, #c.slots - 16
  if older >= 0 then
    last, have = unpack_of('<dd', c.slots, older + 1)
    oldest = older > 0 and unpack_of('<d', c.slots) or 0
  end
  return pack(HOT, c.inflight, c.newest, t.shape, mark, usable(t, t.limit, false), usable(t, t.limit, true), ceiling, covers,
    t.period, c.spent, last, have, oldest), sub(c.slots, 1, max(older, 0))
end

-- write_count adds what is to be written of a count.
local function write_count(fields, name, c)
  local n, text, slots = #fields, hot(c)
  fields[n + 1] = 'c:' .. name
  fields[n + 2] = pack(STATE, c.inflight, c.newest, c.spent, c.ceiling, c.covers, c.presumed, c.hold, c.limit, c.finish,
    c.reported, c.lost, c.window, c.early, c.told, c.told_at, c.after, c.next, c.next_after, c.full, c.presumed_at,
    c.refill, c.rest, c.low, c.line, c.issued) .. c.terms .. (c.dated and pack_dated(c.dated) or slots)
  if text then
    fields[n + 3], fields[n + 4] = 'h:' .. name, text
  elseif c.hot then
    redis.call('HDEL', key, 'h:' .. name)
  end
  if c.ghost then
    redis.call('HSET', key, pack('>c2I8', 'p:', c.ghost), pack('<dddHc0', flown() - life, 1, c.flying, #name, name))
  end
end

-- write_down keeps all that was changed.
local function write_down()
  local fields = {}
  for name, c in pairs(counts) do
    if c.changed then
      -- As many values are written at once at most.
      if #fields > 500 then
        redis.call('HSET', key, unpack(fields))
        fields = {}
      end
      write_count(fields, name, c)
    end
  end
  for name, g in pairs(gates) do
    if g.changed then
      redis.call('HSET', key, 'g:' .. name, pack(GATE, g.till, g.why, g.half, g.pilot, g.since, g.closed, g.strikes))
    end
  end
  write_group(fields)
end
