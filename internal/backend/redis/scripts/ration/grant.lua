-- Grants calls the short way: asks that are all granted of what is stored.
--
-- KEYS[1]  the group
-- ARGV[3]  the asks, as reserve.lua is told of them
-- ARGV[4]  and on: counts and gates (short.lua)
--
-- Returns nothing if it is not plain, else what reserve.lua does.

for i = 2 + counts_told, #raw do
  if raw[i] then
    local till, _, half = unpack_of('<ddd', raw[i])
    if now < till or half == 1 then
      return {}
    end
  end
end
if now >= sweep_at then
  return {}
end

local blob, from, kinds = ARGV[3], 9, {}
for i = 1, unpack_of('<d', blob) do
  local _, _, n, size = unpack_of('<dddd', blob, from)
  kinds[i], from = from, from + 32 + 16 * n + size
end
local answers, fields, filled, told = { 0, 0, 0, 0, 0, 0, 0, 0 }, {}, 0, 8
while from < #blob do
  local kind, times = unpack_of('<dd', blob, from)
  local _, low, n, size, at = unpack_of('<dddd', blob, kinds[kind])
  local first, last = sequence + 1, sequence + times
  from = from + 16
  for _ = 1, n do
    local number, cost, after = unpack_of('<dd', blob, at)
    local c, price = counts[number], max(cost, 1)
    local all, inflight, taken, below = price * times, c[INFLIGHT], 0, -1
    at = after
    if c[IS_DATED] then
      local left, reported = c[LEFT], c[REPORTED]
      local open = reported < EXACT and min(left, reported - inflight) or left
      taken, below = c[LIMIT] - (reported < left and open or left), c[CEILING] - c[SPARE]
      -- What was told must tell what is taken from the first ask to the last, or of none.
      plain = plain and open - all >= (low == 1 and c[LOW] or c[KEPT]) and (reported >= left or reported < left - all) and taken >= 0
      c[LEFT], c[STARTED] = left - all, c[STARTED] == 0 and now or c[STARTED]
    else
      taken = inflight + c[SPENT]
      plain = plain and price <= max(c[KEPT], 1) and taken + all <= (low == 1 and c[LOW] or c[KEPT])
    end
    if not plain or now >= c[COVERS] or taken + all > c[CEILING] or taken + price <= below then
      return {}
    end
    c[INFLIGHT], c[NEWEST] = inflight + all, last
  end
  local value = pack('<d', now) .. sub(blob, at, at + size - 1)
  for id = first, last do
    fields[filled + 1], fields[filled + 2] = pack('>c2I8', 'p:', id), value
    filled = filled + 2
  end
  sequence = last
  answers[told + 1], answers[told + 2], answers[told + 3], answers[told + 4], answers[told + 5] = times, first, 0, 0, 0
  told = told + 5
end
for i = 1, counts_told do
  local c = counts[i]
  fields[filled + 1] = ARGV[4 + i]
  if c[IS_DATED] then
    fields[filled + 2] = pack('<dddd', c[LEFT], c[INFLIGHT], c[NEWEST], c[STARTED]) .. sub(raw[1 + i], 33)
  else
    fields[filled + 2] = pack('<dd', c[INFLIGHT], c[NEWEST]) .. sub(raw[1 + i], 17)
  end
  filled = filled + 2
end
redis.call('HSET', key, 'm', pack(META, sequence, offset, now, turns + 1, when, alive, epoch, scale, strict, server, sweep_at, best,
  since, ahead), unpack(fields))
answers[1], answers[2], answers[3], answers[4], answers[5], answers[7], answers[8] = epoch, sequence, now, turns + 1, clock, scale, found
return answers
