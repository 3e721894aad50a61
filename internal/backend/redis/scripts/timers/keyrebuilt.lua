-- Forgets the rebuild, unless it was set anew or taken again since, and notes
-- that the keys are complete.
-- KEYS 1 and, for the rebuild, schedule and processing: see keys.lua. 4
-- timer:epoch: see keys.lua.
-- ARGV 1 how long others may take to act on what they heard, in ms, 2 token.
-- Returns nothing.
if call('GET', KEYS[3]) == ARGV[2] then
  call('DEL', KEYS[3])
  finish({ whole(now), KEYS[2] }, tonumber(ARGV[1]))
  local run = server_run()
  if epoch_of(KEYS[4]) == '?' .. run then note_epoch(KEYS[4], run) end
end
return {}
