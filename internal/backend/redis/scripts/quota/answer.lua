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
local believed, seen_sequence = raw[1] and #raw[1] == 104, struct.unpack('<d', ARGV[5])
if believed then
  local sequence, _, _, _, sweep_at, _, server, _, _, _, _, _, checked = struct.unpack('<ddddddddddddd', raw[1])
  local _, _, _, _, _, _, life = struct.unpack('<ddddddd', ARGV[4])
  believed = sequence >= seen_sequence and sweep_at <= now + life
  if believed and (ARGV[1] ~= '' or now < checked or now > checked + 10000) then
    local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
    believed = server == tonumber(string.sub(run_id, 1, 13), 16)
  end
end
if not believed then
  return {}
end

local _, window, _, points_limit, period = struct.unpack('<ddddd', ARGV[4])
if raw[3] and (raw[5] or points_limit <= 0) then
  local pack, unpack_record, min, max = struct.pack, struct.unpack, math.min, math.max
  local sequence, out, parked, refresh_at, sweep_at, best, server, why, half, pilot, closed, strikes =
    unpack_record('<dddddddddddd', raw[1])
  local _, _, known_skew, ahead, _, _, _, _, since = unpack_record('<ddddddddd', raw[2])
  local left, inflight, newest, started, reported, lost, lost_next, limit, kept, unsaved, blind,
    ghosts, reset, hold, answered, trial, rest, tried = unpack_record('<dddddddddddddddddd', raw[3])
  local assumed, _, _, _, _, carried, anchor = unpack_record('<ddddddd', raw[4])
  local held, spent, oldest, first, last, slot = 0, 0, 0, 0, 0, 0
  if raw[5] then
    held, spent, oldest, first, last, slot = unpack_record('<dddddd', raw[5])
  end

  local ending = max(reset + 20000 - best, hold)
  local plain = now < refresh_at and blind == 0 and ghosts == 0 and unsaved == 0 and lost == 0
    and half == 0 and trial == 0 and assumed == 0 and anchor > 0 and now < ending
    and ending <= now + 2 * window + 60000000
  if points_limit > 0 then
    local grain = max(math.floor(period / 64), 1)
    plain = plain and slot > 0 and last <= now and math.floor(last / grain) == math.floor(now / grain)
      and (oldest > 0 and oldest or last) + period > now
  end
  local jitter = min(1000000, window / 2)
  local fresh = known_skew == 1 and now >= since and now - since <= 600000000
  local answers, seen, reply = ARGV[5], {}, { now }
  for i = 6, #ARGV do
    local id, cost, points, granted, free, known, told_limit, remaining, told_reset, date, actual,
      exhausted, retry_after, backoff = unpack_record('<dddddddddddddd', answers, (i - 6) * 120 + 9)
    local distance = told_reset - anchor
    if not plain or not raw[i] or seen[id] or free == 1 or known == 0 or exhausted == 1 or retry_after > 0
      or backoff == 1 or id <= carried or distance > jitter or distance < -jitter or told_reset > reset
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
    local o = pack('<ddddddddddddd', sequence, out, parked, refresh_at, sweep_at, best, server, why, half,
      pilot, closed, strikes, now)
    local b = pack('<dddddddddddddddddd', left, inflight, newest, started, reported, lost, lost_next,
      limit, kept, unsaved, blind, ghosts, reset, hold, answered, trial, rest, tried)
    if points_limit > 0 then
      redis.call('HSET', KEYS[1], 'o', o, ARGV[2], b,
        ARGV[3], pack('<dddddd', held, spent, oldest, first, max(last, now), slot))
    else
      redis.call('HSET', KEYS[1], 'o', o, ARGV[2], b)
    end
    return reply
  end
end
