-- The short way through settle.lua: calls of a window whose end is known, that
-- were answered as expected, which is nearly all of them. It counts as
-- settle.lua does, on numbers alone, before any function is made; whatever is
-- not plain, it leaves to the long way, untouched. What it reads and returns,
-- settle.lua tells.

local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
local raw = redis.call('HMGET', KEYS[1], 'o', 'w', ARGV[2], 'c' .. string.sub(ARGV[2], 2), ARGV[3],
  unpack(ARGV, 6))
if not raw[1] then
  return {}
end

local _, window, _, points_limit, period = struct.unpack('<ddddd', ARGV[4])
if raw[3] and (raw[5] or points_limit <= 0) then
  local pack, unpack_record, min, max = struct.pack, struct.unpack, math.min, math.max
  local sequence, out, parked, refresh_at, sweep_at, best = unpack_record('<dddddd', raw[1])
  local _, _, known_skew, ahead, _, _, _, _, since = unpack_record('<ddddddddd', raw[2])
  local left, inflight, newest, started, reported, lost, lost_next, limit, kept, unsaved, blind,
    ghosts, reset, hold, answered = unpack_record('<ddddddddddddddd', raw[3])
  local assumed, _, _, _, _, carried, anchor = unpack_record('<ddddddd', raw[4])
  local held, spent, oldest, first, last, slot = 0, 0, 0, 0, 0, 0
  if raw[5] then
    held, spent, oldest, first, last, slot = unpack_record('<dddddd', raw[5])
  end

  local plain = now < refresh_at and blind == 0 and ghosts == 0 and unsaved == 0 and lost == 0
    and assumed == 0 and anchor > 0 and now < max(reset + 20000 - best, hold)
  if points_limit > 0 then
    plain = plain and slot > 0 and now - first < period / 128
      and (oldest > 0 and oldest or last) + period > now
  end
  local jitter = min(1000000, window / 2)
  local fresh = known_skew == 1 and now >= since and now - since <= 600000000
  local answers, seen, reply = ARGV[5], {}, { now }
  for i = 6, #ARGV do
    local id, cost, points, granted, free, known, told_limit, remaining, told_reset, date, actual,
      exhausted, retry_after = unpack_record('<ddddddddddddd', answers, (i - 6) * 104 + 1)
    local distance = told_reset - anchor
    if not plain or not raw[i] or seen[id] or free == 1 or known == 0 or exhausted == 1 or retry_after > 0
      or id <= carried or distance > jitter or distance < -jitter or told_reset > reset
      or told_limit > 0 and told_limit ~= limit
      or date > 0 and not (fresh and date - now <= ahead and date - granted + 1000000 > best) then
      plain = false
      break
    end
    seen[id] = true
    left = left + cost - (actual > 0 and actual or cost)
    inflight = max(inflight - cost, 0)
    reported = min(reported, max(remaining, 0))
    held, spent, slot = max(held - points, 0), spent + points, slot + points
    out = max(out - 1, 0)
    reply[i - 4] = 0
  end
  if plain then
    redis.call('HDEL', KEYS[1], unpack(ARGV, 6))
    local o = pack('<dddddd', sequence, out, parked, refresh_at, sweep_at, best)
    local b = pack('<ddddddddddddddd', left, inflight, newest, started, reported, lost, lost_next,
      limit, kept, unsaved, blind, ghosts, reset, hold, answered)
    if points_limit > 0 then
      redis.call('HSET', KEYS[1], 'o', o, ARGV[2], b,
        ARGV[3], pack('<dddddd', held, spent, oldest, first, max(last, now), slot))
    else
      redis.call('HSET', KEYS[1], 'o', o, ARGV[2], b)
    end
    return reply
  end
end
