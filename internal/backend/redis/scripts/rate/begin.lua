-- Goes over to another day, or creates the state if nothing is known: then
-- calls of just now may be unknown, and nothing is granted for a second.
--
-- KEYS[1]  the upstream
-- ARGV[4]  the day: its number, and what else of it the other scripts read
-- ARGV[5]  calls written down of the day before this caller came, those for
--          LOW, what is written down now, and how long the upstream is paused
--          as far as the caller knows
--
-- Returns clock, epoch, calls granted, the state's time, its scale and turns, and
-- whether the caller is a newcomer, as stranger_for tells.

local day = struct.unpack('<d', ARGV[4])
local stored, stored_low, ceiling, pause = struct.unpack('<dddd', ARGV[5])

local function create(old)
  local epoch = max(clock, caller_epoch + 1)
  local m = { epoch = epoch, granted = epoch, clock = clock, scale = 0, turns = 0, now = clock,
    tokens = burst, guard = guard_burst, low = low_burst, hold = clock + SECOND, paused = clock + pause,
    high_line = 0, low_line = 0, day = 0, day_began = clock, used = 0, used_low = 0, ceiling = 0,
    previous_day = 0, previous_used = 0, previous_low = 0, save_at = 0, server = server }
  if old then
    -- What an older state knew of its days is true as far as it goes.
    m.epoch, m.granted = max(epoch, old.epoch + 1), max(epoch, old.epoch + 1)
    m.day, m.used, m.used_low = old.day, old.used, old.used_low
    m.previous_day, m.previous_used, m.previous_low = old.previous_day, old.previous_used, old.previous_low
    m.paused = max(m.paused, clock + max(old.paused - old.now, 0))
    if old.day == day then
      m.used, m.used_low, m.ceiling = max(old.used, stored), max(old.used_low, stored_low), ceiling
    end
  end
  return m
end

local old = read(redis.call('GET', KEYS[1]))
local m, stranger, told = old, 0, 0
if not old or went_back(old) then
  m = create(old)
else
  stranger, told = stranger_for(m)
  if stranger == 0 then
    advance(m)
  end
end
if m.day ~= day then
  local used, used_low = 0, 0
  if day == m.previous_day then
    used, used_low = m.used + m.previous_used, m.used_low + m.previous_low
    m.previous_day, m.previous_used, m.previous_low = 0, 0, 0
  else
    m.previous_day, m.previous_used, m.previous_low = m.day, m.used, m.used_low
  end
  m.day, m.day_began = day, present(m)
  m.used, m.used_low, m.ceiling = max(used, stored), max(used_low, stored_low), ceiling
end
write(m)
return { clock, m.epoch, m.granted, m.now, m.scale, m.turns, told }
