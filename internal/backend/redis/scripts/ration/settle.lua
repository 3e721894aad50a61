-- Ends permits, and learns from the answers.
--
-- KEYS[1]  the group
-- ARGV[3]  the permits, doubles: for each its number (0 for a call that was granted on
--          other counts), how long ago it was granted by the
--          caller's clock, the number of its gate (0 for none), for how long the gate
--          is closed (0 if it is not), 1 to back off, 1 if it was answered well, what the
--          upstream's clock showed (0 if it did not say), how
--          many draws; for each draw the number of its count, 1 if it was free, what it
--          cost (0 as asked), the limit that was told (0 if none), what was told to be left
--          (-1 if it was not), in how long the window ends, how long such a window is and
--          what a bucket gets back in it (0 if that was not told), the number of the
--          count that it drew on in truth (0 for the same), when the window ends by the
--          upstream's clock (0 if that was not told), 1 if there is nothing left, and 1 if
--          it was answered as it should be
-- ARGV[4]  1 if counts are stored elsewhere before they are drawn on
-- ARGV[5]  counts and gates (entries in learn.lua)
--
-- Returns nothing if the group must be restored. Else the HEAD, and for each permit for how long its gate is closed by it, and a number that
-- orders what is stored; zeros if it is not. Then for each count that took more than is
-- stored what ahead in learn.lua says.

if not known() then
  return {}
end

read_entries()
settling = true

-- answered learns what an answer says of a gate, and says whether it is closed by it.
local function answered(g, id, retry, backoff, well)
  local pilot = g.pilot ~= 0 and g.pilot == id
  if pilot then
    g.pilot, g.changed = 0, true
  end
  if retry > 0 then
    close(g, retry, PARKED)
    return true
  elseif backoff == 1 and (g.half == 0 or id > g.closed) then
    local delay = FIRST_DELAY
    for _ = 1, g.strikes do
      delay = min(delay * 2, LONGEST_DELAY)
    end
    close(g, delay, BACKOFF)
    g.strikes = min(g.strikes + 1, 10)
    return true
  elseif pilot and well == 1 then
    g.half, g.strikes, g.changed = 0, 0, true
  end
  return false
end

local results, ended, seen = { 0, 0, 0, 0, 0, 0, 0 }, {}, {}
local blob, size, from = ARGV[3], #ARGV[3], 1
while from <= size do
  local id, ago, gate_number, retry, backoff, well, date, n
  id, ago, gate_number, retry, backoff, well, date, n, from = unpack_of('<dddddddd', blob, from)
  local field = string.format('p:%.0f', id)
  -- One that is given back twice at once ends once.
  local held = not seen[id] and redis.call('HGET', key, field)
  seen[id] = true
  local granted_at, drawn = now - ago, 0
  observe(date, granted_at, now)
  if held then
    granted_at, drawn = unpack_of('<dd', held)
    ended[#ended + 1] = field
  end
  for i = 1, n do
    local number, moved
    local a = {}
    number, a.free, a.cost, a.limit, a.left, a.ends, a.window, a.refill, moved, a.reset, a.exhausted, a.served,
      from = unpack_of('<dddddddddddd', blob, from)
    local price = i <= drawn and unpack_of('<d', held, 9 + 8 * i)
    -- What was moved and holds nothing here says nothing of the count that it was asked of.
    local c, t = entered(moved > 0 and not price and moved or number)
    c.changed = true
    if moved > 0 and price then
      settle(c, t, granted_at, id, price, FREE)
      a.cost = max(a.cost, price)
      c, t = entered(moved)
      c.changed = true
    end
    if moved > 0 and price then
      charge_other(c, t, granted_at, id, a)
    elseif price then
      settle(c, t, granted_at, id, price, a)
    elseif id == 0 then
      charge_other(c, t, granted_at, id, a)
    else
      learn(c, t, granted_at, id, a)
    end
  end
  local wait, order = 0, 0
  if gate_number > 0 then
    local g = gate(ARGV[gates_at + gate_number])
    if answered(g, id, retry, backoff, well) then
      group.sequence = group.sequence + 1
      wait, order = g.till - now, group.sequence
    end
  end
  results[#results + 1] = wait
  results[#results + 1] = order
end
if #ended > 0 then
  redis.call('HDEL', key, unpack(ended))
end
if storing then
  for i, e in ipairs(entries) do
    if e.count and e.terms.stored == 1 and used(e.count, e.terms) > e.count.ceiling then
      ahead(results, i, used(e.count, e.terms))
    end
  end
end
write_down()
return head(results)
