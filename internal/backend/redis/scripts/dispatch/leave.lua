-- Forgets that calls wait and, if asked, that a consumer exists, unless it
-- holds something.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 consumer, '' to leave it; 9 and on: what was noted for the calls.
-- Returns nothing.
tick()
for i = OWN + 1, #ARGV do drop_demand(ARGV[i]) end
close_books()
if ARGV[OWN] ~= '' then
  for _, stream in ipairs({ HIGH, LOW }) do
    local pending = redis.pcall('XPENDING', stream, GROUP, '-', '+', 1, ARGV[OWN])
    if not pending.err and #pending == 0 then call('XGROUP', 'DELCONSUMER', stream, GROUP, ARGV[OWN]) end
  end
end
return {}
