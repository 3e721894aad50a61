-- What answers tell of windows that the upstream dates (dated_settle.go of
-- internal/ration/keeper).

local function confirm_dated(d, id)
  for _ = 1, 2 do
    if d.lost > 0 and id > d.after then
      d.lost, d.after, d.next, d.next_after = d.next, d.next_after, 0, 0
    end
  end
end

local function adopt_dated(d, limit)
  if limit <= 0 then
    return
  end
  if d.assumed == 1 then
    d.left, d.assumed = d.left + limit - d.limit, 0
  end
  d.limit = limit
end

local function plausible(t, reset)
  return (reset == 0 or latest(reset) > furthest(t)) and 0 or reset
end

local function exhaust_dated(d, t)
  d.left, d.reported = min(d.left, 0), 0
  believe(d)
  if d.answered == 0 then
    d.answered = now
  end
  local finish = dated_end(d, t)
  if not finish or finish <= now then
    d.hold = now + t.period
  end
end

local function place_dated(d, t, w)
  local jitter = min(SECOND, t.period / 2)
  if d.anchor > 0 then
    local ahead = w.reset - d.anchor
    if ahead > jitter then
      return LATER
    end
    return ahead < -jitter and EARLIER or SAME
  elseif d.hold > 0 then
    return earliest(w.reset) > d.hold and LATER or SAME
  end
  return w.id <= d.carried and w.reset <= d.previous and EARLIER or SAME
end

local function learn_same(d, t, w)
  confirm_dated(d, w.id)
  d.reported = min(d.reported, max(w.left, 0))
  if d.anchor == 0 then
    d.anchor = w.reset
    if d.answered >= earliest(w.reset) then
      d.late = max(d.late, d.lost + d.next)
    end
  end
  d.reset = max(d.reset, w.reset)
  adopt_dated(d, w.limit)
  if w.id > d.carried or d.previous > 0 and w.reset - d.previous > min(SECOND, t.period / 2) then
    believe(d)
  end
end

local function begin_dated(c, d, w)
  confirm_dated(d, w.id)
  adopt_dated(d, w.limit)
  local remaining = max(w.left, 0)
  open_window(c, d, remaining - d.inflight - d.lost - d.next)
  d.reported, d.opened = remaining, remaining
  d.reset, d.anchor = w.reset, w.reset
  believe(d)
end

-- word is what an answer told, of a call of this price.
local function word(id, price, a)
  return { id = id, known = a.left >= 0, limit = a.limit, left = a.left, reset = a.reset or 0,
    cost = a.cost > 0 and a.cost or price, exhausted = a.exhausted == 1, served = a.served == 1 }
end

-- learn_dated takes in what was told to a call that is not counted here.
local function learn_dated(c, d, t, w)
  w.reset = plausible(t, w.reset)
  if w.known and w.limit > 0 and w.left >= w.limit then
    adopt_dated(d, w.limit)
    if w.id > d.carried then
      believe(d)
    end
  elseif w.known and w.reset > 0 then
    local where = place_dated(d, t, w)
    if where == EARLIER then
      return
    elseif where == LATER then
      begin_dated(c, d, w)
    else
      learn_same(d, t, w)
    end
  end
  if w.exhausted then
    exhaust_dated(d, t)
  end
end

local function returned_dated(d, w)
  if w.id <= d.carried then
    return
  end
  d.tried = max(d.tried - 1, 0)
  if w.served and not w.known then
    believe(d)
  end
end

local function lose_dated(d, t, price, w)
  if w.cost > price then
    d.left, price = d.left - (w.cost - price), w.cost
  end
  local ending = nil
  if d.reset > 0 then
    ending = earliest(d.reset)
  elseif d.hold > 0 then
    ending = d.hold - STORED_SLACK
  end
  if ending and now >= ending then
    d.late = d.late + price
  end
  d.answered = now
  if d.lost == 0 then
    d.lost, d.after = price, d.newest
  else
    d.next, d.next_after = d.next + price, d.newest
  end
  if w.exhausted then
    exhaust_dated(d, t)
  end
end

-- settle_dated ends a call that was, or may have been, counted by the upstream.
local function settle_dated(c, d, t, price, w)
  w.reset = plausible(t, w.reset)
  d.inflight = max(d.inflight - price, 0)
  returned_dated(d, w)
  if not w.known or w.reset == 0 then
    lose_dated(d, t, price, w)
    return
  end
  local where = place_dated(d, t, w)
  if where == EARLIER then
    if w.id <= d.carried then
      d.left = d.left + price
    end
    return
  elseif where == LATER then
    begin_dated(c, d, w)
  else
    d.left = d.left + price - w.cost
    if w.id <= d.carried and w.left > d.opened then
      d.left = d.left + w.cost
    end
    learn_same(d, t, w)
  end
  if w.exhausted then
    exhaust_dated(d, t)
  end
end

local function refund_dated(c, d, t, price, w)
  d.inflight = max(d.inflight - price, 0)
  d.left = d.left + price
  if d.trial == 1 and w.id > d.carried then
    d.rest = d.rest + price
  end
  returned_dated(d, w)
  learn_dated(c, d, t, w)
end

local function charge_dated(c, d, t, w)
  d.left, d.inflight = d.left - w.cost, d.inflight + w.cost
  if d.started == 0 then
    d.started = now
  end
  settle_dated(c, d, t, w.cost, w)
end
