-- Grants calls, to each ask in its turn: on all that it draws on, or on nothing.
--
-- KEYS[1]  the group
-- ARGV[3]  doubles: how many kinds of asks there are; for each kind the number of its gate
--          (0 for none), 1 if it is not urgent, how many draws, how long the text is that
--          follows them, for each draw the number of its count and its cost, and what its
--          permits hold but for the instant if every draw costs what it is asked for; then the
--          asks, in runs of equal ones: their kind, and how many they are
-- ARGV[4]  and on: counts and gates (base.lua)
--
-- Returns nothing if the group must be restored. Else the HEAD; for each run five numbers:
-- how many of its first asks were granted, the number of the first permit, from which on they
-- are counted, and for the others 1, 0 and 0 if more must be stored first, or the reason, how
-- long to wait, and the number of the count that refuses, negative for a gate. Then for each
-- count of which more must be stored what ahead in learn.lua says.
-- Most calls are granted the short way (grant.lua).

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

local answers, waiting, is_waiting, permits = { 0, 0, 0, 0, 0, 0, 0, 0 }, {}, {}, {}

local function need(i, price)
  local e = entries[i]
  local n = used(e.count, e.terms) + price
  e.need = max(e.need or 0, n)
  if not is_waiting[i] then
    is_waiting[i] = true
    waiting[#waiting + 1] = i
  end
end

-- take draws what is granted to an ask of a kind.
local function take(k, prices, g)
  group.sequence = group.sequence + 1
  local id, n = group.sequence, k.n
  local permit = { pack('<dd', now, n) }
  for i = 1, n do
    local e = entries[k.numbers[i]]
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
  permits[#permits + 1] = pack('>c2I8', 'p:', id)
  permits[#permits + 1] = table.concat(permit)
  if g and g.half == 1 then
    g.pilot, g.since, g.changed = id, now, true
  end
  return id
end

-- decide decides an ask of a kind: it returns the permit, or nil, why not, how long to wait
-- and who refuses. Of several that refuse the one that refuses for longest is told.
local function decide(k)
  local g = k.gate > 0 and told_gate(k.gate) or nil
  local longest, why, who = 0, 0, -k.gate
  if g then
    longest, why = check_gate(g)
    if longest > 0 then
      return nil, why, longest, who
    end
  end
  local prices, open = {}, true
  for i = 1, k.n do
    local c, t = entered(k.numbers[i])
    local limit = granted(c, t)
    local free = usable(t, limit, false)
    local price = max(k.costs[i], 1)
    if not c.dated then
      price = min(price, max(free, 1))
    end
    prices[i] = price
    local taken = used(c, t)
    if k.low then
      free = usable(t, limit, true)
    end
    local wait, reason = check(c, t, price, limit, taken, limit - free, k.low)
    if wait > longest then
      longest, why, who = wait, reason, k.numbers[i]
    end
    if storing and t.stored == 1 and unsaved(c, t, taken, price) then
      open = false
    end
  end
  if longest > 0 then
    return nil, why, longest, who
  elseif open then
    return take(k, prices, g)
  end
  for i = 1, k.n do
    local e = entries[k.numbers[i]]
    if e.terms.stored == 1 and unsaved(e.count, e.terms, used(e.count, e.terms), prices[i]) then
      need(k.numbers[i], prices[i])
    end
  end
  return nil, 1, 0, 0
end

local blob, size, from, kinds = ARGV[3], #ARGV[3], 9, {}
for i = 1, unpack_of('<d', blob) do
  local k, text = { numbers = {}, costs = {} }, 0
  k.gate, k.low, k.n, text, from = unpack_of('<dddd', blob, from)
  k.low = k.low == 1
  for at = 1, k.n do
    k.numbers[at], k.costs[at], from = unpack_of('<dd', blob, from)
  end
  kinds[i], from = k, from + text
end
while from <= size do
  local kind, times
  kind, times, from = unpack_of('<dd', blob, from)
  local all, first, why, wait, who = 0, 0, 0, 0, 0
  -- Nothing changes for those behind one that is not granted: they are equal.
  for i = 1, times do
    local id
    id, why, wait, who = decide(kinds[kind])
    if not id then
      break
    end
    all, first = i, i == 1 and id or first
  end
  local n = #answers
  answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5] = all, first, why or 0, wait or 0, who or 0
end

for _, i in ipairs(waiting) do
  ahead(answers, i, entries[i].need)
end
if #permits > 0 then
  redis.call('HSET', key, unpack(permits))
end
write_down()
return head(answers)
