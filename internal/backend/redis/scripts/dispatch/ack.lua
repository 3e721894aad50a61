-- Forgets entries whose outcome is committed. A lease that is not valid any
-- more is passed over.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 and on, for each lease: job, token.
-- Returns nothing.
tick()
local jobs = {}
for i = OWN, #ARGV, 2 do jobs[#jobs + 1] = ARGV[i] end
load(jobs)
for i = OWN, #ARGV, 2 do
  local job = ARGV[i]
  local r = held(job, ARGV[i + 1])
  if r then
    local l = end_lease(job, r)
    forget(job)
    seat(l)
  end
end
close_books()
return {}
