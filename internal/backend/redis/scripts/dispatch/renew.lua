-- Lets leases end a lease time from now.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 and on, for each lease: job, token.
-- Returns which of them are lost, counted from 0.
tick()
local jobs, lost = {}, {}
for i = OWN, #ARGV, 2 do jobs[#jobs + 1] = ARGV[i] end
load(jobs)
for i = OWN, #ARGV, 2 do
  local r = held(ARGV[i], ARGV[i + 1])
  if r then
    reported(ARGV[i], r)
    extend(ARGV[i], r)
  else
    lost[#lost + 1] = (i - OWN) / 2
  end
end
close_books()
return lost
