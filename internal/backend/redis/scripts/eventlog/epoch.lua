-- Names the life of a topic's entries: what the topic was given when it was first
-- asked, and the run of the server. The former goes with everything else, the
-- latter changes when the server is another one or was started again.
-- KEYS and ARGV 1 to 2: see common.lua.
-- ARGV 3 what the topic is given if it has nothing.
-- Returns both, parted by a space.
call('HSETNX', POSITIONS, 'epoch', ARGV[OWN])
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
return call('HGET', POSITIONS, 'epoch') .. ' ' .. (run or '')
