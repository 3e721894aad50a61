-- Appends messages. Where no group has joined the topic, entries that are too
-- old are removed; otherwise nothing goes before it is dealt with.
-- KEYS and ARGV 1 to 2: see common.lua.
-- ARGV 3 how long a topic without a group keeps entries (ms), and then for each
-- message: partition, key, value.
-- Returns nothing.
local touched = {}
for i = OWN + 1, #ARGV, 3 do
  local key = stream(tonumber(ARGV[i]))
  call('XADD', key, '*', 'k', ARGV[i + 1], 'v', ARGV[i + 2])
  touched[key] = true
end
if call('EXISTS', GROUPS) == 0 then
  local oldest = whole(math.max(now - tonumber(ARGV[OWN]), 0))
  for key in pairs(touched) do call('XTRIM', key, 'MINID', '~', oldest) end
end
return {}
