-- Hands entries back to the front of their lanes, without counting the
-- delivery. A lease that is not valid any more is passed over.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 and on, for each lease: job, token, at (ms, 0 for now).
-- Returns nothing.
tick()
local jobs = {}
for i = OWN, #ARGV, 3 do jobs[#jobs + 1] = ARGV[i] end
load(jobs)
for i = OWN, #ARGV, 3 do
  local r = held(ARGV[i], ARGV[i + 1])
  if r then give_back(ARGV[i], r, tonumber(ARGV[i + 2])) end
end
close_books()
return {}
