-- Windows that the upstream dates. It follows dated.go, dated_settle.go and skew.go of
-- internal/ration/keeper rule by rule; the reasons are told there. Their time is that of
-- the group.

local STORED_SLACK, ASSUMED_ROOM = 30 * SECOND, 10
local SAME, EARLIER, LATER = 0, 1, 2

-- Skew ----------------------------------------------------------------------

local function best_ahead()
  if group.old_known == 1 and group.old_ahead > group.ahead then
    return group.old_ahead
  end
  return group.ahead
end

local function observe(date, sent, received)
  if date == 0 then
    return
  end
  local g, ahead, slack = group, date - received, SECOND + received - sent
  if g.known == 1 and best_ahead() >= ahead + slack then
    g.known, g.ahead, g.slack = 0, 0, 0
    g.old_known, g.old_ahead, g.old_slack, g.since = 0, 0, 0, 0
  end
  if g.known == 0 or received - g.since > SKEW_MEMORY or received < g.since then
    g.old_known, g.old_ahead, g.old_slack = g.known, g.ahead, g.slack
    g.known, g.ahead, g.slack, g.since = 1, ahead, slack, received
  elseif ahead > g.ahead then
    g.ahead, g.slack = ahead, slack
  end
end

local function latest(t)
  return t + RESET_MARGIN - best_ahead()
end

local function earliest(t)
  if group.old_known == 1 and group.old_ahead > group.ahead then
    return t - group.old_ahead - group.old_slack
  end
  return t - group.ahead - (group.known == 1 and group.slack or SECOND)
end

-- Counts --------------------------------------------------------------------

local function new_dated(t)
  return { limit = t.limit, assumed = 1, left = t.limit, reported = EXACT, opened = EXACT, inflight = 0, lost = 0,
    after = 0, next = 0, next_after = 0, late = 0, newest = 0, carried = 0, reset = 0, anchor = 0, previous = 0,
    hold = 0, started = 0, answered = 0, trial = 0, rest = 0, tried = 0 }
end

local function read_dated(text)
  local d = {}
  d.left, d.inflight, d.newest, d.started, d.reported, d.reset, d.limit, d.hold, d.answered, d.carried, d.anchor, d.assumed,
    d.opened, d.lost, d.after, d.next, d.next_after, d.late, d.previous, d.trial, d.rest,
    d.tried = unpack_of(DATED, text)
  return d
end

local function pack_dated(d)
  return pack(DATED, d.left, d.inflight, d.newest, d.started, d.reported, d.reset, d.limit, d.hold, d.answered, d.carried,
    d.anchor, d.assumed, d.opened, d.lost, d.after, d.next, d.next_after, d.late, d.previous, d.trial, d.rest, d.tried)
end

local function furthest(t)
  return now + 2 * t.period + RESET_SLACK
end

-- restore_dated continues what was stored: the limit, what may have been taken, what of it
-- may be counted after the end, and when that and all else is over (0 if not known).
local function restore_dated(t, limit, spent, late, ending, till)
  local d = new_dated(t)
  if limit > 0 then
    d.limit, d.assumed = limit, 0
  end
  local remaining = d.limit - spent
  late = min(late, spent)
  if ending > furthest(t) then
    ending = now + t.period
  end
  d.trial = 1
  if ending == 0 and now >= till then
    d.left = d.limit
  elseif ending == 0 then
    d.left, d.started, d.answered, d.assumed = remaining, now, now, 1
    -- A call on trial for each loss would be one too many.
    d.trial = remaining > 0 and 1 or 0
  elseif now < ending then
    d.left, d.hold, d.started, d.trial = remaining, ending, now, 0
    if now >= ending - STORED_SLACK then
      d.late = late
    end
  elseif now < ending + t.period + 2 * RESET_STEP then
    d.left, d.started, d.answered, d.rest = d.limit - late, now, now, max(remaining, 0)
  else
    d.left, d.rest = d.limit, max(remaining, 0)
  end
  return d
end

local function dated_available(d)
  if d.reported == EXACT then
    return d.left
  end
  return min(d.left, d.reported - d.inflight - d.lost - d.next)
end

-- dated_used is what has been taken, as it is stored: the ledger tells, unless others take too.
local function dated_used(d)
  return max(d.limit - (d.reported < d.left and dated_available(d) or d.left), 0)
end

-- share_of is so many percent of an amount.
local function share_of(n, percent)
  return floor(n / 100) * percent + floor(n % 100 * percent / 100)
end

local function dated_floor(d, t, low)
  local keep, reserve = t.keep, t.reserve
  if d.limit < t.limit and t.limit > 0 then
    keep, reserve = floor(keep * d.limit / t.limit), floor(reserve * d.limit / t.limit)
  end
  if t.own > 0 then
    keep = t.own
    if keep >= d.limit and d.assumed == 1 then
      keep = d.limit - min(ASSUMED_ROOM, floor((d.limit + 1) / 2))
    end
  end
  local n = d.limit - share_of(d.limit, t.use) + keep
  if low then
    n = max(n + reserve, d.limit - share_of(d.limit, t.low))
  end
  return n
end

local function dated_end(d, t)
  if d.reset > 0 then
    return max(latest(d.reset), d.hold)
  elseif d.hold > 0 then
    return d.hold
  elseif d.answered > 0 then
    return d.answered + t.period + RESET_STEP
  end
  return nil
end

local function open_window(c, d, left)
  if d.reset > 0 then
    d.previous = d.reset
  end
  d.left, d.reported, d.opened = left, EXACT, EXACT
  d.reset, d.anchor, d.hold = 0, 0, 0
  d.started, d.answered = 0, 0
  d.late = 0
  d.carried = d.newest
  c.ceiling, c.covers, c.issued, c.changed = 0, 0, 0, true
end

local function believe(d)
  d.trial, d.rest, d.tried = 0, 0, 0
end

-- turn_dated begins the window after this one, on the word of the clock.
local function turn_dated(c, d)
  local late = d.late
  d.tried = 0
  if d.trial == 0 then
    d.trial, d.rest = 1, max(dated_available(d), 0)
  end
  open_window(c, d, d.limit - d.inflight - late)
  if d.inflight + late > 0 then
    d.started = now
  end
  if late > 0 then
    d.answered = now
  end
end

-- advance_dated begins a new window if the old one has ended; one that lasts longer than
-- any does ends one length from now.
local function advance_dated(c, d, t)
  local finish = dated_end(d, t)
  if finish and finish > furthest(t) then
    d.reset, d.anchor, d.hold, c.changed = 0, 0, now + t.period, true
    finish = d.hold
  end
  if finish and now >= finish then
    turn_dated(c, d)
  end
end

-- mistrust_dated forgets when the window ends: one call goes first.
local function mistrust_dated(c, d)
  if d.started > 0 or d.reset > 0 or d.hold > 0 then
    turn_dated(c, d)
  end
end

-- check_dated returns 0, or how long to wait and why.
local function check_dated(d, t, price, low)
  local kept, left = dated_floor(d, t, low), dated_available(d)
  if left - kept >= price then
    if d.trial == 1 and d.tried > 0 and d.rest - kept < price then
      return SOON, TRIAL
    end
    return 0
  end
  local why = SPENT
  if kept > 0 and d.limit - kept < price and d.limit >= price then
    why = KEPT_ALL
  elseif left >= price then
    why = KEPT
  end
  local finish = dated_end(d, t) or now + t.period
  if d.inflight > 0 and min(d.left + d.inflight, d.reported) - kept >= price then
    finish = min(finish, now + SOON)
  end
  return max(finish - now, 1000), why
end

local function take_dated(d, id, price)
  d.left, d.inflight, d.newest = d.left - price, d.inflight + price, id
  if d.started == 0 then
    d.started = now
  end
  if d.trial == 1 then
    d.tried, d.rest = d.tried + 1, d.rest - price
  end
end

local function untouched_dated(d)
  return d.inflight == 0 and d.started == 0 and d.answered == 0 and d.reset == 0 and d.hold == 0 and d.trial == 0
    and d.assumed == 1
end
