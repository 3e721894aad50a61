-- Ends permits, and learns from the answers.
--
-- KEYS[1]  the group
-- ARGV[3]  doubles: how many permits there are, and how many kinds of answers; for each kind
--          the number of its gate (0 for none), for how long the gate is closed (0 if it is
--          not), 1 to back off, 1 if it was answered well, what the upstream's clock showed
--          (0 if it did not say), how many draws, how long the text is that follows them; for
--          each draw the number of its count, 1 if
--          it was free, what it cost (0 as asked), the limit that was told (0 if none), in
--          how long the window ends, how long such a window is and what a bucket gets back
--          in it (0 if that was not told), the number of the count that it drew on in truth
--          (0 for the same), when the window ends by the upstream's clock (0 if that was not
--          told), 1 if there is nothing left, and 1 if it was answered as it should be; and what
--          its permits hold but for the instant, as reserve.lua is told. Then
--          for each permit its kind, its number (0 for a call that was granted on other
--          counts), how long ago it was granted by the caller's clock, and for each draw what
--          was told to be left (-1 if it was not)
-- ARGV[4]  and on: counts and gates (base.lua), and then the fields of the permits
--
-- Returns nothing if the group must be restored. Else the HEAD, and how many gates were closed;
-- for each of them the number of the permit among the others, for how long it is closed by
-- that, and a number that orders what is stored. Then for each count that took more than is
-- stored what ahead in learn.lua says.
-- Most answers go the short way (answer.lua).

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
    local delay, longest = 60 * SECOND, 960 * SECOND
    for _ = 1, g.strikes do
      delay = min(delay * 2, longest)
    end
    close(g, delay, BACKOFF)
    g.strikes = min(g.strikes + 1, 10)
    return true
  elseif pilot and well == 1 then
    g.half, g.strikes, g.changed = 0, 0, true
  end
  return false
end

local results, ended, seen = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, {}, {}

-- settle_draw ends one draw of a call, and learns what its answer tells; price is what it
-- holds, nil if nothing. What was moved and holds nothing says nothing of the count that it
-- was asked of.
local function settle_draw(number, moved, granted_at, id, price, a)
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

-- closes learns what an answer of this kind tells of its gate.
local function closes(k, id, which)
  local g = told_gate(k.gate)
  if answered(g, id, k.retry, k.backoff, k.well) then
    group.sequence = group.sequence + 1
    local n = #results
    results[9] = results[9] + 1
    results[n + 1], results[n + 2], results[n + 3] = which, g.till - now, group.sequence
  end
end

local blob, from, kinds = ARGV[3], 17, {}
local count_of_permits = unpack_of('<d', blob)
for i = 1, unpack_of('<d', blob, 9) do
  local k, text = {}, 0
  k.gate, k.retry, k.backoff, k.well, k.date, k.n, text, from = unpack_of('<ddddddd', blob, from)
  k.draws, from = from, from + 88 * k.n + text
  kinds[i] = k
end
for which = 1, count_of_permits do
  local kind, id, ago
  kind, id, ago, from = unpack_of('<ddd', blob, from)
  local k, field = kinds[kind], ARGV[#ARGV - count_of_permits + which]
  -- One that is given back twice at once ends once.
  local held = not seen[id] and redis.call('HGET', key, field)
  seen[id] = true
  local granted_at, drawn = now - ago, 0
  observe(k.date, granted_at, now)
  if held then
    granted_at, drawn = unpack_of('<dd', held)
    ended[#ended + 1] = field
  end
  for i = 1, k.n do
    local a, number, moved = {}, 0, 0
    number, a.free, a.cost, a.limit, a.ends, a.window, a.refill, moved, a.reset, a.exhausted,
      a.served = unpack_of('<ddddddddddd', blob, k.draws + 88 * (i - 1))
    a.left, from = unpack_of('<d', blob, from)
    settle_draw(number, moved, granted_at, id, i <= drawn and unpack_of('<d', held, 9 + 8 * i), a)
  end
  if k.gate > 0 then
    closes(k, id, which)
  end
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
