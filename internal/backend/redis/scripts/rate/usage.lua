-- Tells what was used of the day. It changes nothing.
--
-- KEYS[1]  the upstream
-- ARGV[4]  the day: its number, its first instant, and that of the next day
--
-- Returns the server's clock alone if the state or its day is not known, or if
-- it is another day; otherwise clock, used, used by LOW, and for how long the
-- upstream is paused.

local day, day_start, day_end = struct.unpack('<ddd', ARGV[4])
local m = known()
if not m or m.day ~= day or clock < day_start or clock >= day_end then
  return { clock }
end
return { clock, m.used, m.used_low, max(m.paused - present(m), 0) }
