-- Forgets waiting entries. A leased job stays with its worker.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 and on: jobs.
-- Returns nothing.
tick()
load({ unpack(ARGV, OWN) })
for i = OWN, #ARGV do
  local job = ARGV[i]
  local r = record(job)
  if r and not is_leased(r) then
    if r.state == 'd' or r.state == 'a' then
      undelay(job, r)
    else
      local l = lane_of(r.lane)
      remove(WAITING, waiting_member(job, r, l))
      left(l, is_low(r))
      seat(l)
    end
    forget(job)
  end
end
close_books()
return {}
