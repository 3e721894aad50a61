-- Makes entries known, in the order given.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 and on, for each entry: job, rank, not before (ms, 0 for now), lane.
-- Returns nothing.
tick()
local jobs = {}
for i = OWN, #ARGV, 4 do jobs[#jobs + 1] = ARGV[i] end
load(jobs)
for i = OWN, #ARGV, 4 do push(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]) end
close_books()
return {}
