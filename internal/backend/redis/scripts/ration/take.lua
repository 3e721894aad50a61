-- Grants calls in bulk, to each ask in its turn: as many as all have that it draws on
-- (keeper's bulk.go). They count from now on.
--
-- KEYS[1]  the group
-- ARGV[3]  doubles: how many kinds of asks there are; for each kind the number of its gate
--          (0 for none), 1 if it is not urgent, how many draws, and for each draw the
--          number of its count; then the asks, in runs of equal ones: their kind,
--          for how many calls each of them is, and how many asks they are
-- ARGV[4]  and on: counts and gates (base.lua)
--
-- Returns nothing if the group must be restored. Else the HEAD; for each run how many of
-- its first asks were granted all they asked for, and for each of the others four numbers:
-- how many calls, why not more (0 all were granted, 1 more must be stored first, else the
-- reason), after how long to ask again, and the number of the count that refuses, negative
-- for a gate. Then for each count of which more must be stored, or is to be before long if
-- no ask waits for it, what ahead in learn.lua says.

local LINE_PLACES = 32

if not known() then
  return {}
end
if stranger == 0 and now >= group.sweep then
  sweep()
end
read_entries()

local function room_of(c, t, low)
  if now < c.hold then
    return 0
  end
  local limit = granted(c, t)
  local left = limit - used(c, t)
  if c.reported >= 0 then
    left = min(left, c.reported - c.inflight - lost(c))
  end
  return left - (limit - usable(t, limit, low))
end

-- measure finds how many calls a kind may have, who leaves least, and how many of them
-- are stored.
local function measure(k)
  k.room, k.who, k.stored, k.slowest = UNLIMITED, 0, UNLIMITED, nil
  for _, number in ipairs(k.draws) do
    local c, t = entered(number)
    local room = max(room_of(c, t, k.low), 0)
    if room < k.room then
      k.room, k.who = room, number
    end
    if storing and t.stored == 1 then
      k.stored = min(k.stored, now < c.covers and max(c.ceiling - used(c, t), 0) or 0)
    end
    if t.shape == BUCKET then
      local slowest = k.slowest and entries[k.slowest].terms
      if not slowest or t.refill * slowest.period <= slowest.refill * t.period then
        k.slowest = number
      end
    end
  end
end

-- charge takes what was granted since the kind was measured.
local function charge(k)
  if k.granted == 0 then
    return
  end
  for _, number in ipairs(k.draws) do
    local c, t = entered(number)
    c.newest = group.sequence + 1
    spend(c, t, now, k.granted)
    if t.reads == 1 then
      add_lost(c, k.granted)
    end
    if k.low then
      c.low = c.low + k.granted
    end
    c.changed = true
  end
  k.granted = 0
end

local function queue(c, t, earliest, n)
  local step, at = cost_time(t, n), earliest
  if c.line > now then
    at = max(at, c.line + step)
  end
  if at > earliest + max(t.period, LINE_PLACES * step) then
    at = earliest
  end
  c.line, c.changed = at, true
  return at
end

local function wait_for(k, n)
  for _, number in ipairs(k.draws) do
    local c, t = entered(number)
    if t.shape == BUCKET then
      n = min(n, max(floor(usable(t, granted(c, t), k.low) / 2), 1))
    end
  end
  local wait = 1
  for _, number in ipairs(k.draws) do
    local c, t = entered(number)
    local missing = (t.shape == BUCKET and n or 1) - room_of(c, t, k.low)
    if now < c.hold then
      wait = max(wait, c.hold - now)
    elseif missing > 0 then
      wait = max(wait, wait_of(c, t, missing))
    end
  end
  if entries[k.who].terms.shape ~= BUCKET then
    return wait
  end
  local c, t = entered(k.slowest)
  return queue(c, t, now + wait, n) - now
end

local blob, size, from = ARGV[3], #ARGV[3], 1
local kinds, n = {}, 0
n, from = unpack_of('<d', blob, from)
for i = 1, n do
  local k, number, low, draws = { draws = {}, granted = 0, lacking = 0 }, 0, 0, 0
  number, low, draws, from = unpack_of('<ddd', blob, from)
  k.low, k.gate = low == 1, -number
  if number > 0 then
    local g = told_gate(number)
    if now < g.till then
      k.shut, k.why = g.till - now, g.why
    end
  end
  for at = 1, draws do
    k.draws[at], from = unpack_of('<d', blob, from)
    local _, t = entered(k.draws[at])
    if t.paced == 1 then
      group.strict = max(group.strict, t.period)
      k.paced = k.paced or k.draws[at]
    end
  end
  if not k.shut and stranger > 0 and k.paced then
    k.shut, k.why, k.gate = stranger, SPENT, k.paced
  end
  kinds[i] = k
end

local answers, current, taken = { 0, 0, 0, 0, 0, 0, 0, 0 }, nil, false
local function answer(calls, why, wait, who)
  local i = #answers
  answers[i + 1], answers[i + 2], answers[i + 3], answers[i + 4] = calls, why, wait, who
end

-- decide answers an ask of a kind that was measured.
local function decide(k, calls)
  local got = min(calls, k.room)
  if got > k.stored then
    -- Nothing is granted yet of what is not stored.
    k.lacking = k.lacking + got
    charge(k)
    answer(0, 1, 0, 0)
    return
  end
  k.granted, k.room, k.stored = k.granted + got, k.room - got, k.stored - got
  taken = taken or got > 0
  if got == calls then
    answer(got, 0, 0, 0)
    return
  end
  if k.granted > 0 then
    charge(k)
    measure(k)
  end
  answer(got, SPENT, wait_for(k, calls - got), k.who)
end

while from <= size do
  local kind, calls, times
  kind, calls, times, from = unpack_of('<ddd', blob, from)
  local k, all = kinds[kind], 0
  if not k.shut then
    if k ~= current then
      if current then
        charge(current)
      end
      current = k
      measure(k)
    end
    all = min(times, floor(min(k.room, k.stored) / calls))
    k.granted, k.room, k.stored = k.granted + all * calls, k.room - all * calls, k.stored - all * calls
    taken = taken or all > 0
  end
  answers[#answers + 1] = all
  for _ = all + 1, times do
    if k.shut then
      answer(0, k.why, k.shut, k.gate)
    else
      decide(k, calls)
    end
  end
end
if current then
  charge(current)
end

if taken then
  group.sequence = group.sequence + 1
end
local needed, waits = {}, false
for _, k in ipairs(kinds) do
  if k.lacking > 0 then
    waits = true
    for _, number in ipairs(k.draws) do
      needed[number] = (needed[number] or 0) + k.lacking
    end
  end
end
for i, e in ipairs(entries) do
  local c, t = e.count, e.terms
  if storing and c and t.stored == 1 then
    local have, limit = used(c, t), granted(c, t)
    if waits and needed[i] then
      ahead(answers, i, have + needed[i])
    elseif not waits and taken and c.ceiling < limit and c.ceiling - have <= floor(chunk(t, limit) / 2) then
      ahead(answers, i, have)
    end
  end
end
write_down()
return head(answers)
