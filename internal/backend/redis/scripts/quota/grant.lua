-- The short way through reserve.lua: asks that are granted and leave nothing
-- to tidy up, which is nearly all of them. It decides as reserve.lua does, on
-- numbers alone, before any function is made; whatever is not plain, it leaves
-- to the long way, untouched. What it reads and returns, reserve.lua tells.

local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
local raw = redis.call('HMGET', KEYS[1], 'o', ARGV[2], ARGV[3])
local believed = raw[1] and #raw[1] == 104
if believed then
  local sequence, _, _, _, sweep_at, _, server, _, _, _, _, _, checked = struct.unpack('<ddddddddddddd', raw[1])
  local _, _, _, _, _, _, life = struct.unpack('<ddddddd', ARGV[4])
  believed = sequence >= struct.unpack('<d', ARGV[5]) and sweep_at <= now + life
  if believed and (ARGV[1] ~= '' or now < checked or now > checked + 10000) then
    local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
    believed = server == tonumber(string.sub(run_id, 1, 13), 16)
  end
end
if not believed then
  return {}
end

local most, window, floor, points_limit, _, concurrency = struct.unpack('<dddddd', ARGV[4])
if raw[2] and (raw[3] or points_limit <= 0) then
  local pack, unpack_record, min, max = struct.pack, struct.unpack, math.min, math.max
  local sequence, out, parked, refresh_at, sweep_at, ahead, server, why, half, pilot, closed, strikes =
    unpack_record('<dddddddddddd', raw[1])
  local left, inflight, newest, started, reported, lost, lost_next, limit, kept, unsaved, blind,
    ghosts, reset, hold, answered, trial, rest, tried = unpack_record('<dddddddddddddddddd', raw[2])
  local held, spent, oldest, first, last, newest_points = 0, 0, 0, 0, 0, 0
  if raw[3] then
    held, spent, oldest, first, last, newest_points = unpack_record('<dddddd', raw[3])
  end

  local ending = hold
  if reset > 0 then
    ending = max(reset + 20000 - ahead, hold)
  elseif hold == 0 then
    ending = answered > 0 and answered + window + 1000000 or 0
  end
  local furthest = now + 2 * window + 60000000
  if kept > 0 then
    floor = kept
  elseif limit < most then
    floor = math.floor(floor * limit / most)
  end
  if concurrency <= 0 then
    concurrency = math.huge
  end

  local plain = now >= parked and now < refresh_at and blind == 0 and ghosts == 0 and half == 0
    and trial == 0 and (ending == 0 or now < ending and ending <= furthest)
  -- Tables are made with room for one ask.
  local reply, changes, n = { now, now >= sweep_at and 1 or 0, 0, 0 }, { '', '', nil, nil }, 0
  local asks = ARGV[5]
  for i = 9, #asks, 24 do
    local cost, points, own_floor = unpack_record('<ddd', asks, i)
    if not plain or own_floor ~= kept or out >= concurrency
      or points_limit > 0 and held + spent + points > points_limit
      or min(left, reported - inflight - lost - lost_next) - floor < cost then
      plain = false
      break
    end
    sequence, out = sequence + 1, out + 1
    left, inflight, held = left - cost, inflight + cost, held + points
    n = n + 2
    reply[n + 1], reply[n + 2] = unsaved, sequence
    changes[n - 1] = pack('>I8', sequence)
    changes[n] = pack('<dddc0', now, cost, points, ARGV[3])
  end
  if plain then
    newest = sequence
    if started == 0 then
      started = now
    end
    if unsaved == 1 then
      sequence = sequence + 1
      if reset == 0 and hold == 0 then
        ending = 0
      end
      reply[n + 3], reply[n + 4], reply[n + 5] = sequence, limit, ending
      reply[n + 6], reply[n + 7] = started, parked
    end
    if points_limit > 0 then
      changes[n + 1] = ARGV[3]
      changes[n + 2] = pack('<dddddd', held, spent, oldest, first, last, newest_points)
    end
    redis.call('HSET', KEYS[1],
      'o', pack('<ddddddddddddd', sequence, out, parked, refresh_at, sweep_at, ahead, server, why, half,
        pilot, closed, strikes, now),
      ARGV[2], pack('<dddddddddddddddddd', left, inflight, newest, started, reported, lost, lost_next,
        limit, kept, unsaved, blind, ghosts, reset, hold, answered, trial, rest, tried),
      unpack(changes))
    return reply
  end
end
