-- Grants calls, to each ask in its turn.
--
-- KEYS[1]  the upstream
-- ARGV[4]  the day: its number, its first instant, and that of the next day
-- ARGV[5]  for every ask two doubles: 1 for LOW else 0, and how many calls
--
-- Returns the server's clock alone if the state or its day is not known, or if
-- it is another day. Otherwise clock, epoch, calls granted, the state's time, its
-- scale and turns, whether the caller is a newcomer, as stranger_for tells, 1 if
-- it has to write the day's count down else 0, used of the day, used by LOW, and
-- for every ask three numbers: calls, why not more (0 all were granted, 1 rate,
-- 2 LOW's share, 3 the day, 4 paused, 5 to be written down first), and after how
-- long to ask again.

local RATE, LOW_SHARE, DAILY, PAUSED, SAVING = 1, 2, 3, 4, 5

local day, day_start, day_end = struct.unpack('<ddd', ARGV[4])
local m, stranger, told = known()
if not m or m.day ~= day or clock < day_start or clock >= day_end then
  return { clock }
end

local function largest(low)
  local most = burst
  if low then
    most = min(burst - reserve, low_burst)
  end
  return max(floor(floor(most / MICRO) / 2), 1)
end

local function line(low, earliest, n)
  local name, by = 'high_line', rate
  if low then
    name, by = 'low_line', low_rate
  end
  local step = ceil(n * MICRO / by)
  local at = earliest
  if m[name] > m.now then
    at = max(at, m[name] + step)
  end
  if at > earliest + max(SECOND, LINE_PLACES * step) then
    at = earliest
  end
  m[name] = at
  return at - m.now
end

local function second_wait(low, n)
  n = min(n, largest(low))
  local missing = n * MICRO - min(m.tokens, m.guard)
  if low then
    missing = missing + reserve
  end
  local wait = ceil(max(missing, 0) / rate)
  if low then
    wait = max(wait, ceil(max(n * MICRO - m.low, 0) / low_rate))
  end
  return line(low, m.now + max(wait, 1), n)
end

local function day_room(low, n)
  if daily == 0 then
    return n, n
  end
  local left = daily - m.used
  if low then
    left = left - daily_reserve
  end
  return max(left, 0), max(m.ceiling - m.used, 0)
end

local function second_room(low, n)
  local room = min(m.tokens, m.guard)
  if not low then
    return floor(room / MICRO), n
  end
  return floor(max(room - reserve, 0) / MICRO), floor(m.low / MICRO)
end

local function charge(low, calls)
  m.tokens = m.tokens - calls * MICRO
  m.guard = m.guard - calls * MICRO
  m.used = m.used + calls
  m.granted = m.granted + calls
  if low then
    m.low = m.low - calls * MICRO
    m.used_low = m.used_low + calls
  end
end

local function take(low, n)
  if m.now < m.paused then
    return 0, PAUSED, m.paused - m.now
  end
  if m.now < m.hold then
    return 0, RATE, line(low, m.hold, min(n, largest(low)))
  end
  local today, saved = day_room(low, n)
  local second, share = second_room(low, n)
  local calls = min(n, today, saved, second, share)
  charge(low, calls)
  if calls == n then
    return calls, 0, 0
  elseif calls == today then
    return calls, DAILY, max(day_end - clock, 1)
  elseif calls == saved then
    return calls, SAVING, min(max(m.save_at - m.now, 1000), SAVE_POLL)
  elseif calls == second then
    return calls, RATE, second_wait(low, n - calls)
  end
  return calls, LOW_SHARE, second_wait(low, n - calls)
end

-- put_off answers a newcomer.
local function put_off()
  if present(m) < m.paused then
    return 0, PAUSED, m.paused - present(m)
  end
  return 0, RATE, stranger
end

local reply = { clock, m.epoch, m.granted, m.now, m.scale, m.turns, told, 0,
  m.used, m.used_low }
for i = 1, #ARGV[5], 16 do
  local k = #reply
  if stranger > 0 then
    reply[k + 1], reply[k + 2], reply[k + 3] = put_off()
  else
    local low, n = struct.unpack('<dd', ARGV[5], i)
    reply[k + 1], reply[k + 2], reply[k + 3] = take(low == 1, n)
  end
end
if stranger > 0 then
  return reply
end
if daily > 0 and m.ceiling < daily and m.ceiling - m.used <= floor(chunk / 2) and m.now >= m.save_at then
  m.save_at = m.now + SAVE_GAP
  reply[8] = 1
end
reply[3], reply[9], reply[10] = m.granted, m.used, m.used_low
write(m)
return reply
