-- Changes what is known: calls that are given back, calls that are written
-- down, or a pause.
--
-- KEYS[1]  the upstream
-- ARGV[4]  'refund', 'raise' or 'pause'
-- ARGV[5]  two doubles: for 'refund' 1 for LOW else 0, and how many calls; for
--          'raise' the day's number and how many of its calls are written down;
--          for 'pause' for how long, and 0
--
-- Returns 1; 0 if there is no state.

local m = known()
if not m then
  return 0
end
local first, second = struct.unpack('<dd', ARGV[5])

local function refund(low, n)
  m.tokens = min(burst, m.tokens + n * MICRO)
  if low then
    m.low = min(low_burst, m.low + n * MICRO)
  end
  if m.now < m.day_began + REFUND_GRACE then
    return
  end
  m.used = max(m.used - n, 0)
  if low then
    m.used_low = max(m.used_low - n, 0)
  end
end

if ARGV[4] == 'refund' then
  refund(first == 1, second)
elseif ARGV[4] == 'raise' then
  if first == m.day then
    m.ceiling = max(m.ceiling, second)
  end
else
  m.paused = max(m.paused, present(m) + first)
end
write(m)
return 1
