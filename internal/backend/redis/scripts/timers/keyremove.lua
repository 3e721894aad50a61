-- Forgets timers, waiting or taken.
-- KEYS 1 and, for each timer, schedule and processing: see keys.lua.
-- ARGV 1 how long others may take to act on what they heard, in ms.
-- Returns nothing.
local over = {}
for i = 2, #KEYS, 2 do
  call('DEL', KEYS[i], KEYS[i + 1])
  over[#over + 1] = whole(now)
  over[#over + 1] = KEYS[i]
end
finish(over, tonumber(ARGV[1]))
return {}
