-- Takes what is due, and notices a server that lost the set or came back with
-- an old one: then the rebuild is due now. If the server's clock was set back,
-- what was taken by the clock before is due after a grace that begins now: whoever
-- took it may be gone.
-- KEYS and ARGV 1: see set.lua.
-- ARGV 2 how many at most, 3 the grace in microseconds, 4 the id of the
-- rebuild, 5 the run of the server that the caller has seen, '' for none.
-- Returns the time, the token of what is taken, the next instant (-1 for none),
-- all in microseconds, the run of the server, and the ids that are taken.
local most, grace, rebuild, seen = tonumber(ARGV[OWN]), tonumber(ARGV[OWN + 1]), ARGV[OWN + 2], ARGV[OWN + 3]
local now = microseconds()

local run, last = string.match(call('GET', EPOCH) or '', '^(%x+) (%d+)$')
last = tonumber(last) or 0
local note = false
if not run or run ~= seen then
  local current = server_run()
  if run ~= current then
    call('ZADD', DUE, whole(even(now)), rebuild)
    note = true
  end
  run = current
end
if was_set_back(last, now, grace) then
  no_later(DUE, even(now + grace), last + grace + 1, is_taken)
  note = true
end

local ids = {}
if most > 0 then ids = due_in(DUE, now, most) end
local token = even(now + grace) + 1
if #ids > 0 then
  local taken = { 'ZADD', DUE }
  for _, id in ipairs(ids) do
    taken[#taken + 1] = whole(token)
    taken[#taken + 1] = id
  end
  call(unpack(taken))
  note = true
end
if note then call('SET', EPOCH, run .. ' ' .. whole(now)) end
local next = first_of(DUE)
if next == NEVER then next = -1 end
return { whole(now), whole(token), whole(next), run, unpack(ids) }
