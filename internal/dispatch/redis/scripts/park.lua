-- Closes a lane until an instant, or leaves it closed if that is later.
-- KEYS and ARGV 1 to 6: see common.lua.
-- ARGV 7 lane, 8 until (ms).
-- Returns nothing.
tick()
local l, untill = lane_of(ARGV[OWN]), tonumber(ARGV[OWN + 1])
if untill > now and untill > l.parked then
  l.parked = untill
  call('ZADD', PARKED, whole(untill), l.name)
  instant(untill)
  seat(l)
end
close_books()
return {}
