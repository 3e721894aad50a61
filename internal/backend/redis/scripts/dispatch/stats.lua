-- Says what waits where.
-- KEYS and ARGV 1 to 7: see common.lua.
-- Returns ready, due later, leased, the earliest instant of an entry or of a
-- parking (ms, 0 for none), and for each lane: name, ready, leased, parked
-- until (ms, 0 for open).
tick()
close_books()
local next_due = math.min(first_of(DELAYED), first_of(PARKED))
if next_due == NEVER then next_due = 0 end
local answer = { call('ZCARD', WAITING), call('ZCARD', DELAYED), call('ZCARD', LEASES), next_due }
local names = call('HKEYS', LANES)
for _, name in ipairs(names) do
  local l = lane_of(name)
  answer[#answer + 1] = name
  answer[#answer + 1] = l.ready
  answer[#answer + 1] = l.leased
  answer[#answer + 1] = l.parked
end
return answer
