-- Makes what was taken due at other instants, unless it was set anew or taken
-- again since.
-- KEYS 1 and, for each timer, schedule and processing: see keys.lua.
-- ARGV for each timer: the token, the instant in ms.
-- Returns nothing.
for i = 1, #ARGV / 2 do
  local waits, taken = KEYS[2 * i], KEYS[2 * i + 1]
  if call('GET', taken) == ARGV[2 * i - 1] then
    call('DEL', taken)
    schedule(waits, tonumber(ARGV[2 * i]))
  end
end
return {}
