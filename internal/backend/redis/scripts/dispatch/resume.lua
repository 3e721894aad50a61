-- Opens a lane at once.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 lane.
-- Returns nothing.
tick()
local l = lane_of(ARGV[OWN])
if l.parked > 0 then
  call('ZREM', PARKED, l.name)
  l.parked = 0
  seat(l)
end
close_books()
return {}
