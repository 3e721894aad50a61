-- Ends permits the short way: calls that were answered as expected.
--
-- KEYS[1]  the group
-- ARGV[3]  the permits, as settle.lua is told of them
-- ARGV[4]  and on: counts and gates (short.lua), and then the fields of the permits
--
-- Returns nothing if it is not plain, else what settle.lua does.

local FROM, TAIL, MOST, DATE, HOW_MANY, CALLS, LOWEST = 1, 2, 3, 4, 5, 6, 7
local blob, kinds, seen = ARGV[3], {}, {}
local permits, all, from = unpack_of('<dd', blob)
local first = #raw - permits
for i = 2 + counts_told, first do
  if raw[i] then
    local _, _, half, pilot = unpack_of('<dddd', raw[i])
    if half == 1 or pilot ~= 0 then
      return {}
    end
  end
end
for i = 1, all do
  local _, retry, backoff, _, date, n, size, at = unpack_of('<ddddddd', blob, from)
  if retry > 0 or backoff == 1 or date > 0 and (now < since or now - since > SKEW_MEMORY or date - now > ahead) then
    return {}
  end
  from = at + 88 * n + size
  local k = { at, sub(blob, from - size, from - 1), EXACT, date, n, 0, EXACT }
  kinds[i] = k
  for draw = at, at + 88 * (n - 1), 88 do
    local number, free, _, limit, ends, window, refill, moved, reset, exhausted = unpack_of('<dddddddddd', blob, draw)
    local c = counts[number]
    if c[IS_DATED] then
      local distance, jitter = reset - c[ANCHOR], min(SECOND, c[PERIOD] / 2)
      plain = reset > 0 and c[ANCHOR] > 0 and distance <= jitter and distance >= -jitter
        and (limit == 0 or limit == c[LIMIT] and c[ASSUMED] == 0)
        and reset + RESET_MARGIN - best <= now + 2 * c[PERIOD] + RESET_SLACK
      if free == 1 and limit > 0 then
        k[MOST] = limit
      end
    else
      plain = limit == 0 and ends == 0 and refill == 0 and window == 0
    end
    if not plain or moved > 0 or exhausted == 1 then
      return {}
    end
  end
end
for i = 1, permits do
  local kind, id, ago, at = unpack_of('<ddd', blob, from)
  local k, held = kinds[kind], raw[first + i]
  if not held or seen[id] or sub(held, 9) ~= k[TAIL] or k[DATE] > 0 and k[DATE] - now + ago + SECOND <= best then
    return {}
  end
  seen[id] = true
  k[CALLS], k[LOWEST] = k[CALLS] + 1, min(k[LOWEST], id)
  for draw = k[FROM], k[FROM] + 88 * (k[HOW_MANY] - 1), 88 do
    local left = unpack_of('<d', blob, at)
    local c = counts[unpack_of('<d', blob, draw)]
    at = at + 8
    if not c[IS_DATED] then
      plain = left < 0
    else
      plain = left >= 0 and left < k[MOST]
      c[REPORTED] = min(c[REPORTED], left)
    end
    if not plain then
      return {}
    end
  end
  from = at
end
for i = 1, all do
  local k = kinds[i]
  for draw = 0, k[HOW_MANY] - 1 do
    local number, free, cost, _, _, _, _, _, reset = unpack_of('<ddddddddd', blob, k[FROM] + 88 * draw)
    local c, price = counts[number], unpack_of('<d', k[TAIL], 9 + 8 * draw)
    local took = free == 1 and 0 or cost > 0 and cost or price
    c[INFLIGHT] = max(c[INFLIGHT] - price * k[CALLS], 0)
    if c[IS_DATED] then
      if k[LOWEST] <= c[CARRIED] then
        return {}
      end
      c[LEFT], c[RESET] = c[LEFT] + (price - took) * k[CALLS], max(c[RESET], reset)
    elseif c[SHAPE] == SLIDING then
      c[TOOK] = c[TOOK] + took * k[CALLS]
    end
  end
end

local fields = {}
for i = 1, counts_told do
  local c, taken, n = counts[i], 0, #fields
  fields[n + 1] = ARGV[4 + i]
  if c[IS_DATED] then
    taken = c[LIMIT] - (c[REPORTED] < c[LEFT] and min(c[LEFT], c[REPORTED] - c[INFLIGHT]) or c[LEFT])
    fields[n + 2] = pack('<dddddd', c[LEFT], c[INFLIGHT], c[NEWEST], c[STARTED], c[REPORTED], c[RESET]) .. sub(raw[1 + i], 49)
  elseif c[TOOK] == 0 then
    taken = c[INFLIGHT] + c[SPENT]
    fields[n + 2] = pack('<d', c[INFLIGHT]) .. sub(raw[1 + i], 9)
  else
    local last, have, oldest, grain = c[LAST], c[HAVE], c[OLDEST], max(floor(c[PERIOD] / SLOTS), 1)
    taken = c[INFLIGHT] + c[SPENT] + c[TOOK]
    if have > 0 and floor(last / grain) ~= floor(now / grain) and last <= now then
      -- The newest slot is one of the others from now on.
      local name = 'c:' .. sub(ARGV[4 + i], 3)
      fields[n + 3], fields[n + 4] = name, redis.call('HGET', key, name) .. pack('<dd', last, have)
      have, oldest = 0, oldest > 0 and oldest or last
    end
    fields[n + 2] = pack('<dddddd', c[INFLIGHT], c[NEWEST], c[SPENT] + c[TOOK], max(last, now), have + c[TOOK], oldest)
      .. sub(raw[1 + i], 49)
  end
  if taken > c[CEILING] then
    return {}
  end
end
redis.call('HDEL', key, unpack(ARGV, 5 + first - 1))
redis.call('HSET', key, 'm', pack(META, sequence, offset, now, turns + 1, when, alive, epoch, scale, strict, server, sweep_at, best,
  since, ahead), unpack(fields))
return { epoch, sequence, now, turns + 1, clock, 0, scale, found, 0 }
