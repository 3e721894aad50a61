-- Closes a lane until an instant, or leaves it closed if that is later.
-- KEYS and ARGV 1 to 6: see common.lua.
-- ARGV 7 lane, 8 until (ms).
-- Returns nothing.
tick()
local l, ends = lane_of(ARGV[OWN]), tonumber(ARGV[OWN + 1])
if ends > now and ends > l.parked then
  l.parked = ends
  call('ZADD', PARKED, whole(ends), l.name)
  instant(ends)
  seat(l)
end
close_books()
return {}
