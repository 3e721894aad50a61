-- Counts what a group has not dealt with.
-- KEYS and ARGV 1 to 2: see common.lua.
-- Returns how many entries, and when the oldest of them was added (ms, 0 if
-- there is none).
local total, oldest = 0, 0
for p = 0, PARTITIONS - 1 do
  local key = stream(p)
  local position = call('HGET', POSITIONS, place(p, GROUP)) or '0-0'
  local first = call('XRANGE', key, '(' .. position, '+', 'COUNT', 1)[1]
  if first then
    local ms = split(first[1])
    if oldest == 0 or ms < oldest then oldest = ms end
    if call('XRANGE', key, '-', '+', 'COUNT', 1)[1][1] == first[1] then
      total = total + call('XLEN', key)
    else
      -- Another group is further behind.
      total = total + #call('XRANGE', key, '(' .. position, '+')
    end
  end
end
return { total, oldest }
