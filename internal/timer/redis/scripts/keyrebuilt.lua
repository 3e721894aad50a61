-- Forgets the rebuild, unless it was set anew or taken again since, and notes
-- that the keys are complete.
-- KEYS 1 and, for the rebuild, schedule and processing: see keys.lua. 4
-- timer:epoch: see keycheck.lua.
-- ARGV 1 how long others may take to act on what they heard, in ms, 2 token.
-- Returns nothing.
if call('GET', KEYS[3]) == ARGV[2] then
  call('DEL', KEYS[3])
  finish({ whole(now), KEYS[2] }, tonumber(ARGV[1]))
  local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if call('GET', KEYS[4]) == '?' .. run then call('SET', KEYS[4], run) end
end
return {}
