-- Takes what is due, and notices a server that lost the set or came back with
-- an old one: then the rebuild is due now.
-- KEYS and ARGV 1: see common.lua.
-- ARGV 2 how many at most, 3 the grace in microseconds, 4 the id of the
-- rebuild, 5 the run of the server that the caller has seen, '' for none.
-- Returns the time, the token of what is taken, the next instant (-1 for none),
-- all in microseconds, the run of the server, and the ids that are taken.
local most, grace, rebuild, seen = tonumber(ARGV[OWN]), tonumber(ARGV[OWN + 1]), ARGV[OWN + 2], ARGV[OWN + 3]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local run = call('GET', EPOCH)
if not run or run ~= seen then
  -- Asking for the run takes longer than all the rest.
  local current = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if run ~= current then
    call('ZADD', DUE, whole(now - now % 2), rebuild)
    call('SET', EPOCH, current)
  end
  run = current
end

local ids = {}
if most > 0 then ids = call('ZRANGEBYSCORE', DUE, '-inf', whole(now), 'LIMIT', 0, most) end
local token = now + grace
token = token + 1 - token % 2
if #ids > 0 then
  local taken = { 'ZADD', DUE }
  for _, id in ipairs(ids) do
    taken[#taken + 1] = whole(token)
    taken[#taken + 1] = id
  end
  call(unpack(taken))
end
local next = first()
if next == NEVER then next = -1 end
return { whole(now), whole(token), whole(next), run, unpack(ids) }
