-- Makes timers due at instants, unless they are due earlier already. What is
-- taken is in nobody's hands any more, and due at the end of its grace at the
-- latest, which is no further away than a grace is long, whatever the clock was
-- set to.
-- KEYS 1 and, for each timer, schedule and processing: see keys.lua.
-- ARGV 1 grace in ms; then, for each timer, its instant in ms.
-- Returns nothing.
local longest = tonumber(ARGV[1])
local known = {}
for i = 1, #ARGV - 1 do
  local waits, taken = KEYS[2 * i], KEYS[2 * i + 1]
  local at = tonumber(ARGV[i + 1])
  local grace = call('PTTL', taken)
  if grace >= 0 then
    at = math.min(at, now + math.min(grace, longest))
    call('DEL', taken)
  end
  local left = call('PTTL', waits)
  if left < 0 or now + left > at then schedule(waits, at) end
  known[i] = waits
end
call('ZREM', FINISHED, unpack(known))
return {}
