-- Forgets what was taken, unless it was set anew or taken again since.
-- KEYS 1 and, for each timer, schedule and processing: see keys.lua.
-- ARGV 1 how long others may take to act on what they heard, in ms; then, for
-- each timer, the token.
-- Returns nothing.
local over = {}
for i = 2, #ARGV do
  local waits, taken = KEYS[2 * i - 2], KEYS[2 * i - 1]
  if call('GET', taken) == ARGV[i] then
    call('DEL', taken)
    over[#over + 1] = whole(now)
    over[#over + 1] = waits
  end
end
finish(over, tonumber(ARGV[1]))
return {}
