-- Takes or keeps the lead, and does what the leader does: lets time have its
-- effect, hands out, notices a server that came back from an old snapshot, and
-- removes consumers that are gone.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 token of this scheduler, 9 how long the lead lasts without news (ms),
-- 10 how long a consumer that holds nothing may be silent (ms).
-- Returns 1 for the leader and 0 for others, the number of the term, and in how
-- many ms to ask again: for the leader when the next thing happens, for others
-- when the lead may be free.
local token, lasts, silent = ARGV[OWN], ARGV[OWN + 1], tonumber(ARGV[OWN + 2])
local meta = call('HMGET', META, 'term', 'run_id', 'tidied')
local term = tonumber(meta[1] or 0)

local function tidy()
  for _, stream in ipairs({ HIGH, LOW }) do
    local all = redis.pcall('XINFO', 'CONSUMERS', stream, GROUP)
    for _, facts in ipairs(all.err and {} or all) do
      local c = {}
      for i = 1, #facts, 2 do c[facts[i]] = facts[i + 1] end
      if c.pending == 0 and c.idle > silent then call('XGROUP', 'DELCONSUMER', stream, GROUP, c.name) end
    end
  end
  call('HSET', META, 'tidied', whole(now))
end

local leader = call('GET', LEADER)
if leader and leader ~= token then
  local left = call('PTTL', LEADER)
  if left > tonumber(lasts) then
    -- The clock was set back, and nobody leads for longer than that.
    call('PEXPIRE', LEADER, lasts)
    left = tonumber(lasts)
  end
  tick()
  close_books()
  return { 0, term, math.max(left, 0) }
end
if not leader then
  term = term + 1
  call('HSET', META, 'term', term)
end
call('SET', LEADER, token, 'PX', lasts)

local run_id = server_run()
if meta[2] ~= run_id then
  if meta[2] then push_on_loss() end
  call('HSET', META, 'run_id', run_id)
end
tick()
flush()
wake = first_instant()
if call('ZCARD', LEASES) == 0 then pumped = 0 end
if now - tonumber(meta[3] or 0) >= math.min(silent, 60000) then tidy() end
close_books()
return { 1, term, math.max(wake - now, 0) }
