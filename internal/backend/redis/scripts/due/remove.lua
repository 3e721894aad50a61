-- Forgets entries, waiting or taken.
-- KEYS and ARGV 1: see set.lua.
-- ARGV 2 and on: ids.
-- Returns nothing.
call('ZREM', DUE, unpack(ARGV, OWN))
return {}
