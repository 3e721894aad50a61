-- Grants calls, to each ask in its turn: on all that it draws on, or on nothing.
--
-- KEYS[1]  the group
-- ARGV[3]  the asks, doubles: for each the number of its gate (0 for none), 1 if it is
--          not urgent, how many draws, and for each draw the number of its count and
--          its cost
-- ARGV[4]  1 if counts are stored elsewhere before they are drawn on
-- ARGV[5]  counts and gates (entries in learn.lua)
--
-- Returns nothing if the group must be restored. Else the HEAD; for each ask three numbers: 0, the permit's number and 0; or 1, 0 and 0 if
-- more must be stored first; or the reason, how long to wait, and the number of the
-- count that refuses, negative for a gate. Then for each count of which more must be
-- stored what ahead in learn.lua says.

if not known() then
  return {}
end
if now >= group.sweep then
  sweep()
end

read_entries()

-- check returns 0, or how long to wait and why.
local function check(c, t, price, limit, taken, kept, low)
  if now < c.hold then
    return c.hold - now, SPENT
  elseif c.dated then
    return check_dated(c.dated, t, price, low)
  end
  local left = limit - taken
  if c.reported >= 0 then
    left = min(left, c.reported - c.inflight - lost(c))
  end
  local room = left - kept
  if room >= price then
    return 0
  end
  if t.shape == CONCURRENT then
    return SOON, BUSY
  end
  local why = SPENT
  if left >= price then
    why = KEPT
  end
  local wait = wait_of(c, t, price - room)
  if c.inflight > 0 and room + c.inflight >= price and t.patient == 0 then
    wait = min(wait, SOON)
  end
  return max(wait, 1000), why
end

local function check_gate(g)
  if now < g.till then
    return g.till - now, g.why
  elseif g.half == 1 and g.pilot ~= 0 and now < g.since + life then
    return SOON, TRIAL
  end
  return 0
end

local answers, waiting, is_waiting, permits = { 0, 0, 0, 0, 0, 0, 0 }, {}, {}, {}

local function need(i, price)
  local e = entries[i]
  local n = used(e.count, e.terms) + price
  e.need = max(e.need or 0, n)
  if not is_waiting[i] then
    is_waiting[i] = true
    waiting[#waiting + 1] = i
  end
end

local function answer(a, b, c)
  local n = #answers
  answers[n + 1], answers[n + 2], answers[n + 3] = a, b, c
end

local blob, size, from = ARGV[3], #ARGV[3], 1
while from <= size do
  local gate_number, low, n
  gate_number, low, n, from = unpack_of('<ddd', blob, from)
  low = low == 1
  local g = gate_number > 0 and gate(ARGV[gates_at + gate_number]) or nil
  local longest, why, who = 0, 0, -gate_number
  if g then
    longest, why = check_gate(g)
  end
  local shut = longest > 0
  local drawn, prices, open = {}, {}, true
  for i = 1, n do
    local number, cost
    number, cost, from = unpack_of('<dd', blob, from)
    if not shut then
      local c, t = entered(number)
      local limit = granted(c, t)
      local free = usable(t, limit, false)
      local price = max(cost, 1)
      if not c.dated then
        price = min(price, max(free, 1))
      end
      drawn[i], prices[i] = number, price
      local taken = used(c, t)
      if low then
        free = usable(t, limit, true)
      end
      local wait, reason = check(c, t, price, limit, taken, limit - free, low)
      if wait > longest then
        longest, why, who = wait, reason, number
      end
      if storing and t.stored == 1 and unsaved(c, t, taken, price) then
        open = false
      end
    end
  end
  if longest > 0 then
    answer(why, longest, who)
  elseif not open then
    for i = 1, n do
      local e = entries[drawn[i]]
      if e.terms.stored == 1 and unsaved(e.count, e.terms, used(e.count, e.terms), prices[i]) then
        need(drawn[i], prices[i])
      end
    end
    answer(1, 0, 0)
  else
    group.sequence = group.sequence + 1
    local id = group.sequence
    local permit = { pack('<dd', now, n) }
    for i = 1, n do
      local e = entries[drawn[i]]
      local c = e.count
      e.packed = e.packed or pack('<Hc0', #e.name, e.name)
      c.changed = true
      if c.dated then
        take_dated(c.dated, id, prices[i])
      else
        c.inflight, c.newest = c.inflight + prices[i], id
      end
      permit[1 + i], permit[1 + n + i] = pack('<d', prices[i]), e.packed
    end
    permits[#permits + 1] = string.format('p:%.0f', id)
    permits[#permits + 1] = table.concat(permit)
    if g and g.half == 1 then
      g.pilot, g.since, g.changed = id, now, true
    end
    answer(0, id, 0)
  end
end

for _, i in ipairs(waiting) do
  ahead(answers, i, entries[i].need)
end
if #permits > 0 then
  redis.call('HSET', key, unpack(permits))
end
write_down()
return head(answers)
