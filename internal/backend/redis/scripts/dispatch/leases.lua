-- Leases, and what time alone changes. Part of every script, behind lanes.lua.

local lease_end = whole(now + LEASE)

-- extend lets a lease end a lease time from now.
local function extend(job, r)
  add(LEASES, lease_end, r.number .. ':' .. job)
  instant(now + LEASE)
end

-- reported notes that somebody has what was pumped.
local function reported(job, r)
  if r.state ~= 'p' then return end
  r.state = 'l'
  touch(job)
  pumped = pumped - 1
end

-- end_lease takes an entry from its worker. The caller says where it goes.
local function end_lease(job, r)
  reported(job, r)
  remove(LEASES, r.number .. ':' .. job)
  finish(stream_of(r), r.number)
  local l = lane_of(r.lane)
  l.leased = l.leased - 1
  return l
end

-- uncount takes a delivery back.
local function uncount(r) r.deliveries = whole(r.deliveries - 1) end

-- give_back hands an entry back, at an instant or at once. It does not count
-- as a delivery.
local function give_back(job, r, at)
  local l = end_lease(job, r)
  uncount(r)
  r.state = 'a'
  if at > now then
    delay(job, r, at)
    seat(l)
  else
    enqueue(job, r)
  end
end

-- expire takes an entry whose worker was silent for too long. What was pumped
-- and never reached anybody does not count as a delivery.
local function expire(job, r)
  local unread = r.state == 'p' and call('XACK', stream_of(r), GROUP, r.number .. '-0') == 0
  end_lease(job, r)
  if unread then uncount(r) end
  r.state = 'a'
  enqueue(job, r)
end

---------------------------------------------------------------------------
-- What time alone changes.

-- overdue appends what has come of a set.
local function overdue(events, set, kind)
  local found = due_in(set, now, MOST, 'WITHSCORES')
  for i = 1, #found, 2 do
    events[#events + 1] = { kind = kind, member = found[i], at = tonumber(found[i + 1]), place = #events }
  end
end

-- first_instant returns when something happens by itself.
local function first_instant() return math.min(first_of(DELAYED), first_of(PARKED), first_of(LEASES)) end

local function happen(event)
  if event.kind == 2 then
    call('ZREM', PARKED, event.member)
    local l = lane_of(event.member)
    l.parked = 0
    seat(l)
    return
  end
  local number, job = sub(event.member, 1, 16), sub(event.member, 18)
  local r = record(job)
  local current = r and r.number == number
  if event.kind == 1 then
    remove(DELAYED, event.member)
    if current and (r.state == 'd' or r.state == 'a') then enqueue(job, r) end
  elseif current and is_leased(r) then
    expire(job, r)
  else
    remove(LEASES, event.member)
  end
end

-- set_back makes up for a clock that was set back: whoever holds a lease or
-- waits did so for a time that begins now at the latest, and may be gone. Lanes
-- were closed by the clock of before; whoever asks now is told whether they are
-- still to be.
local function set_back()
  flush()
  no_later(LEASES, now + LEASE)
  no_later(DEMAND, now + LONGEST_WAIT)
  for _, lane in ipairs(call('ZRANGE', PARKED, 0, -1)) do happen({ kind = 2, member = lane }) end
  wake = first_instant()
end

-- tick takes in order of time what became due: entries, ends of parkings, ends
-- of leases. It takes a bounded number; wake then stays where it is, so that
-- the next call goes on.
local function tick()
  if was_set_back(clock, now, LEASE) then set_back() end
  if now < wake then return end
  flush()
  local events = {}
  overdue(events, DELAYED, 1)
  overdue(events, PARKED, 2)
  overdue(events, LEASES, 3)
  table.sort(events, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.place < b.place
  end)
  local jobs = {}
  for _, event in ipairs(events) do
    if event.kind ~= 2 then jobs[#jobs + 1] = sub(event.member, 18) end
  end
  load(jobs)
  for _, event in ipairs(events) do happen(event) end
  flush()
  wake = first_instant()
end
