-- Closes a lane for a time, or leaves it closed if it is for longer.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 lane, 9 how long (microseconds).
-- Returns nothing.
tick()
local l, ends = lane_of(ARGV[OWN]), math.ceil((now_us + tonumber(ARGV[OWN + 1])) / 1000)
if ends > now and ends > l.parked then
  l.parked = ends
  call('ZADD', PARKED, whole(ends), l.name)
  instant(ends)
  seat(l)
end
close_books()
return {}
