-- Gives up the lead, if it is this scheduler's, and tells the others.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 token of this scheduler.
-- Returns nothing.
tick()
close_books()
if call('GET', LEADER) == ARGV[OWN] then
  call('DEL', LEADER)
  call('PUBLISH', CHANNEL, 'free')
end
return {}
