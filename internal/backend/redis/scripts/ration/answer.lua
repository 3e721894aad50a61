-- Ends permits the short way: calls that were answered as expected.
--
-- KEYS[1]  the group
-- ARGV[1]  what the caller knows (short.lua), and the permits, doubles: how many there are, and how
--          many kinds of answers; for each kind what the upstream's clock showed (0 if it did
--          not say), how many draws, and how long the text is that follows them; for each draw
--          the number of its count, what it took, and for windows that are dated the limit
--          that was told (0 if none), when the window ends, and 1 if it was free; and what its
--          permits hold but for the instant, as reserve.lua is told. Then for each permit its
--          kind, its number, how long ago it was granted by the caller's clock, and for each draw
--          of a window that is dated what was told to be left
-- ARGV[2]  and on: counts and gates (short.lua), and then the fields of the permits
--
-- Returns '' if it is not plain, else doubles: the group's number, its time and turns, the
-- server's clock, and the server if it was found out now.

local FROM, TAIL, MOST, DATE, HOW_MANY, CALLS, LOWEST, IS_DATED = 1, 2, 3, 4, 5, 6, 7, 8
local kinds, seen, took, permits, all = {}, {}, {}, 0, 0
permits, all, from = unpack_of('<dd', blob, from)
local first = #raw - permits
for i = 2 + counts_told, first do
  if raw[i] then
    local _, _, half, pilot = unpack_of('<dddd', raw[i])
    if half == 1 or pilot ~= 0 then
      return ''
    end
  end
end
for i = 1, all do
  local date, n, size, at = unpack_of('<ddd', blob, from)
  if date > 0 and (now < since or now - since > SKEW_MEMORY or date - now > ahead) then
    return ''
  end
  from = at + 40 * n + size
  local k = { at, sub(blob, from - size, from - 1), EXACT, date, n, 0, EXACT }
  kinds[i] = k
  for draw = at, at + 40 * (n - 1), 40 do
    local number, _, limit, reset, free = unpack_of('<ddddd', blob, draw)
    local c = counts[number]
    if c[SHAPE] == DATED_SHAPE then
      local distance, jitter = reset - c[ANCHOR], min(SECOND, c[PERIOD] / 2)
      if c[ANCHOR] == 0 or distance > jitter or distance < -jitter or limit > 0 and (limit ~= c[LIMIT] or c[ASSUMED] == 1)
        or reset + RESET_MARGIN - best > now + 2 * c[PERIOD] + RESET_SLACK then
        return ''
      end
      if free == 1 and limit > 0 then
        k[MOST] = limit
      end
      k[#k + 1] = c
    end
  end
end
for i = 1, permits do
  local kind, id, ago, at = unpack_of('<ddd', blob, from)
  local k, held = kinds[kind], raw[first + i]
  if not held or seen[id] or sub(held, 9) ~= k[TAIL] or k[DATE] > 0 and k[DATE] - now + ago + SECOND <= best then
    return ''
  end
  seen[id] = true
  k[CALLS], k[LOWEST] = k[CALLS] + 1, min(k[LOWEST], id)
  for d = IS_DATED, #k do
    local left = unpack_of('<d', blob, at)
    at = at + 8
    if left >= k[MOST] then
      return ''
    end
    k[d][REPORTED] = min(k[d][REPORTED], left)
  end
  from = at
end
for i = 1, all do
  local k = kinds[i]
  local calls = k[CALLS]
  for draw = 0, k[HOW_MANY] - 1 do
    local number, cost, _, reset = unpack_of('<dddd', blob, k[FROM] + 40 * draw)
    local c, price = counts[number], unpack_of('<d', k[TAIL], 9 + 8 * draw)
    c[INFLIGHT] = max(c[INFLIGHT] - price * calls, 0)
    if c[SHAPE] == DATED_SHAPE then
      if k[LOWEST] <= c[CARRIED] then
        return ''
      end
      c[LEFT], c[RESET] = c[LEFT] + (price - cost) * calls, max(c[RESET], reset)
    elseif c[SHAPE] == SLIDING then
      took[number] = (took[number] or 0) + cost * calls
    end
  end
end

local fields = {}
for i = 1, counts_told do
  local c, taken, n = counts[i], 0, #fields
  fields[n + 1] = ARGV[1 + i]
  if c[SHAPE] == DATED_SHAPE then
    taken = c[LIMIT] - (c[REPORTED] < c[LEFT] and min(c[LEFT], c[REPORTED] - c[INFLIGHT]) or c[LEFT])
    fields[n + 2] = pack(HOT_DATED, unpack(c, 1, 20))
  elseif c[SHAPE] == CONCURRENT then
    fields[n + 2] = pack('<dddddd', unpack(c, 1, 6))
  else
    local more = took[i] or 0
    if more > 0 then
      local last, have, grain = c[LAST], c[HAVE], max(floor(c[PERIOD] / SLOTS), 1)
      if have > 0 and floor(last / grain) ~= floor(now / grain) and last <= now then
        -- The newest slot is one of the others from now on.
        local name = 'c:' .. sub(fields[n + 1], 3)
        fields[n + 3], fields[n + 4] = name, redis.call('HGET', key, name) .. pack('<dd', last, have)
        have, c[OLDEST] = 0, c[OLDEST] > 0 and c[OLDEST] or last
      end
      c[SPENT], c[LAST], c[HAVE] = c[SPENT] + more, have > 0 and max(last, now) or now, have + more
    end
    taken = c[INFLIGHT] + c[SPENT]
    fields[n + 2] = pack(HOT, unpack(c, 1, 13))
  end
  if taken > c[CEILING] then
    return ''
  end
end
redis.call('HDEL', key, unpack(ARGV, first + 1))
redis.call('HSET', key, 'm', pack(META, sequence, now - clock, now, turns + 1, checked, alive, epoch, scale, strict, server,
  sweep_at, best, since, ahead), unpack(fields))
return pack('<ddddd', sequence, now, turns + 1, clock, found)
