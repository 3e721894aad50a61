-- The arithmetic of giving permits back; it follows dated_settle.go, gate.go and skew.go
-- of the keeper of rations.

local SKEW_MEMORY = 600 * SECOND -- skewMemory
local SAME, EARLIER, LATER = 0, 1, 2

-- observe learns how far the upstream's clock is ahead.
local function observe(o, date, sent, received)
  if date == 0 then
    return
  end
  local ahead, slack = date - received, SECOND + received - sent
  if o.known == 1 and best_ahead(o) >= ahead + slack then
    o.known, o.ahead, o.slack = 0, 0, 0
    o.old_known, o.old_ahead, o.old_slack, o.since = 0, 0, 0, 0
  end
  if o.known == 0 or received - o.since > SKEW_MEMORY or received < o.since then
    o.old_known, o.old_ahead, o.old_slack = o.known, o.ahead, o.slack
    o.known, o.ahead, o.slack, o.since = 1, ahead, slack, received
  elseif ahead > o.ahead then
    o.ahead, o.slack = ahead, slack
  end
end

-- presume counts points as spent at that instant.
local function presume(p, cfg, at, n)
  if n <= 0 then
    return
  end
  expire_points(p, cfg.period, at)
  p.spent = p.spent + n
  if p.newest > 0 then
    if in_last_slot(p, cfg.period, at) then
      p.newest = p.newest + n
      p.last = max(p.last, at)
      return
    end
    local slots = slots_of(p)
    slots[#slots + 1] = p.last
    slots[#slots + 1] = p.newest
    p.oldest, p.moved = slots[1], true
  end
  p.first, p.last, p.newest = at, at, n
end

local function spend(p, cfg, now, n)
  p.inflight = max(p.inflight - n, 0)
  presume(p, cfg, now, n)
end

local function confirm(c, id)
  for _ = 1, 2 do
    if c.lost > 0 and id > c.lost_after then
      c.lost, c.lost_after = c.lost_next, c.lost_next_after
      c.lost_next, c.lost_next_after = 0, 0
    end
  end
end

local function adopt(c, limit)
  if limit <= 0 then
    return
  end
  if c.assumed == 1 then
    c.left = c.left + limit - c.limit
    c.assumed = 0
  end
  c.limit = limit
end

local function jitter_of(cfg)
  return min(RESET_JITTER, cfg.window / 2)
end

local function learn_header(o, c, cfg, r)
  confirm(c, r.id)
  c.reported = min(c.reported, max(r.remaining, 0))
  if c.anchor == 0 then
    c.anchor = r.reset
    if c.answered >= earliest(o, r.reset) then
      c.late = max(c.late, c.lost + c.lost_next)
    end
  end
  c.reset = max(c.reset, r.reset)
  adopt(c, r.limit)
  if r.id > c.carried or c.previous > 0 and r.reset - c.previous > jitter_of(cfg) then
    believe(c)
  end
end

local function begin(c, r)
  confirm(c, r.id)
  adopt(c, r.limit)
  local remaining = max(r.remaining, 0)
  open(c, remaining - c.inflight - c.lost - c.lost_next)
  c.reported, c.opened = remaining, remaining
  c.reset, c.anchor = r.reset, r.reset
  believe(c)
end

local function exhaust(o, c, cfg, now)
  c.left, c.reported = min(c.left, 0), 0
  believe(c)
  if c.answered == 0 then
    c.answered = now
  end
  local finish = window_end(o, c, cfg)
  if not finish or finish <= now then
    c.hold = now + cfg.window
  end
end

-- place says how a header's window relates to the counted one. A blind window
-- would rise by a header of the window before it, which no ledger bounds: it
-- takes in only what certainly ends later than that.
local function place(o, c, cfg, r)
  local jitter = jitter_of(cfg)
  if c.anchor > 0 then
    local d = r.reset - c.anchor
    if d > jitter then
      return LATER
    end
    return d < -jitter and EARLIER or SAME
  end
  local certain = earliest(o, r.reset)
  if c.hold > 0 then
    if certain > c.hold then
      return LATER
    end
    return c.blind == 1 and certain <= c.hold - cfg.window / 2 and EARLIER or SAME
  elseif c.blind == 1 and certain <= c.started or r.id <= c.carried and r.reset <= c.previous then
    return EARLIER
  end
  return SAME
end

-- learn takes in the headers of a call that is not counted here.
local function learn(o, c, cfg, now, r)
  if r.known == 1 and r.limit > 0 and r.remaining >= r.limit then
    adopt(c, r.limit)
    if r.id > c.carried then
      believe(c)
    end
  elseif r.known == 1 and r.reset > 0 then
    local where = place(o, c, cfg, r)
    if where == EARLIER then
      return
    elseif where == LATER then
      begin(c, r)
    else
      learn_header(o, c, cfg, r)
    end
  end
  if r.exhausted == 1 then
    exhaust(o, c, cfg, now)
  end
end

-- count ends a call that was, or may have been, counted by the upstream.
local function count(o, c, cfg, now, r)
  if r.known == 0 or r.reset == 0 then
    local took = max(r.cost, r.actual or 0)
    c.left = c.left - (took - r.cost)
    lose(o, c, now, took)
  else
    local actual = r.actual > 0 and r.actual or r.cost
    local where = place(o, c, cfg, r)
    if where == EARLIER then
      if r.id <= c.carried then
        c.left = c.left + r.cost
      end
      return
    elseif where == LATER then
      begin(c, r)
    else
      c.left = c.left + r.cost - actual
      if r.id <= c.carried and r.remaining > c.opened then
        c.left = c.left + actual
      end
      learn_header(o, c, cfg, r)
    end
  end
  if r.exhausted == 1 then
    exhaust(o, c, cfg, now)
  end
end

-- plausible is a reset that a header told, or 0 if no window can end then.
local function plausible(o, cfg, now, reset)
  return latest(o, reset) > furthest(cfg, now) and 0 or reset
end

local function close_gate(o, till, why)
  if till > o.parked then
    o.parked, o.why, o.refresh_at = till, why, 0
  end
  o.half, o.closed = 1, max(o.sequence, o.closed)
end

-- pass_gate learns from an answer whether the upstream serves the owner.
local function pass_gate(o, now, r)
  local pilot = o.pilot ~= 0 and r.id == o.pilot
  if pilot then
    o.pilot = 0
  end
  if r.retry_after > 0 then
    close_gate(o, now + min(r.retry_after, LONGEST_PARK), RETRY_AFTER)
  elseif r.backoff == 1 and (o.half == 0 or r.id > o.closed) then
    close_gate(o, now + min(FIRST_BACKOFF * 2 ^ min(o.strikes, 5), LONGEST_BACKOFF), BACKOFF)
    o.strikes = o.strikes + 1
  elseif pilot and r.exhausted == 0 and r.backoff == 0 and (r.known == 1 or r.succeeded == 1) then
    o.half, o.strikes = 0, 0
  end
end

-- give_back ends a permit that was held.
local function give_back(o, c, p, cfg, now, r)
  if p and r.free == 1 and r.known == 0 then
    p.inflight = max(p.inflight - r.points, 0)
  elseif p then
    spend(p, cfg, now, r.points)
  end
  advance(o, c, cfg, now)
  c.inflight = max(c.inflight - r.cost, 0)
  if r.free == 1 and c.trial == 1 and r.id > c.carried then
    c.rest = c.rest + r.cost
  end
  returned(c, r)
  if r.free == 1 then
    c.left = c.left + r.cost
    learn(o, c, cfg, now, r)
  else
    count(o, c, cfg, now, r)
  end
end
