-- Grants calls the short way: asks that are all granted of what is stored.
--
-- KEYS[1]  the group
-- ARGV[1]  what the caller knows (short.lua), and the asks, as reserve.lua is told of them
-- ARGV[2]  and on: counts and gates (short.lua)
--
-- Returns '' if it is not plain, else doubles: the group's number, its time and turns, the
-- server's clock, and the server if it was found out now. The permits have the numbers up to the
-- group's.

for i = 2 + counts_told, #raw do
  if raw[i] then
    local till, _, half = unpack_of('<ddd', raw[i])
    if now < till or half == 1 then
      return ''
    end
  end
end
if now >= sweep_at then
  return ''
end

local kinds, fields, filled, all_kinds = {}, {}, 0, 0
all_kinds, from = unpack_of('<d', blob, from)
for i = 1, all_kinds do
  local _, _, n, size = unpack_of('<dddd', blob, from)
  kinds[i], from = from, from + 32 + 16 * n + size
end
while from <= #blob do
  local kind, times = unpack_of('<dd', blob, from)
  local _, low, n, size, at = unpack_of('<dddd', blob, kinds[kind])
  local first, last, floor_at = sequence + 1, sequence + times, low == 1 and LOW or KEPT
  from = from + 16
  for _ = 1, n do
    local number, price, after = unpack_of('<dd', blob, at)
    at = after
    if price < 1 then
      price = 1
    end
    local c = counts[number]
    local all, inflight = price * times, c[INFLIGHT]
    local ceiling, taken = c[CEILING], 0
    if c[SHAPE] == DATED_SHAPE then
      local left, reported, limit = c[LEFT], c[REPORTED], c[LIMIT]
      local open = left
      taken = limit - left
      if reported < EXACT then
        open = min(left, reported - inflight)
        if reported < left then
          taken = limit - open
        end
      end
      -- What was told must tell what is taken from the first ask to the last, or of none.
      plain = open - all >= c[floor_at] and (reported >= left or reported < left - all) and taken >= 0
        and taken + price > ceiling - c[SPARE]
      c[LEFT] = left - all
      if c[STARTED] == 0 then
        c[STARTED] = now
      end
    else
      taken = inflight + c[SPENT]
      plain = price <= max(c[KEPT], 1) and taken + all <= c[floor_at]
    end
    if not plain or now >= c[COVERS] or taken + all > ceiling then
      return ''
    end
    c[INFLIGHT], c[NEWEST] = inflight + all, last
  end
  local value = pack('<d', now) .. sub(blob, at, at + size - 1)
  for id = first, last do
    fields[filled + 1], fields[filled + 2] = pack('>c2I8', 'p:', id), value
    filled = filled + 2
  end
  sequence = last
end
for i = 1, counts_told do
  local c = counts[i]
  fields[filled + 1] = ARGV[1 + i]
  if c[SHAPE] == DATED_SHAPE then
    fields[filled + 2] = pack(HOT_DATED, unpack(c, 1, 20))
  elseif c[SHAPE] == SLIDING then
    fields[filled + 2] = pack(HOT, unpack(c, 1, 13))
  else
    fields[filled + 2] = pack('<dddddd', unpack(c, 1, 6))
  end
  filled = filled + 2
end
redis.call('HSET', key, 'm', pack(META, sequence, now - clock, now, turns + 1, checked, alive, epoch, scale, strict, server,
  sweep_at, best, since, ahead), unpack(fields))
return pack('<ddddd', sequence, now, turns + 1, clock, found)
