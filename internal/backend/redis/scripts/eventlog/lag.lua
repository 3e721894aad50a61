-- Counts what nobody of a group has taken.
-- KEYS and ARGV 1 to 2: see common.lua.
-- Returns how many entries, and when the oldest of them was added (ms, 0 if
-- there is none).
local total, oldest = 0, 0
for p = 0, PARTITIONS - 1 do
  local key = stream(p)
  local from = call('HGET', POSITIONS, takenPlace(p, GROUP)) or call('HGET', POSITIONS, place(p, GROUP)) or '0-0'
  local first = call('XRANGE', key, '(' .. from, '+', 'COUNT', 1)[1]
  if first then
    local ms = split(first[1])
    if oldest == 0 or ms < oldest then oldest = ms end
    -- What is before it is under way, and few.
    total = total + call('XLEN', key) - #call('XRANGE', key, '-', from)
  end
end
return { total, oldest }
