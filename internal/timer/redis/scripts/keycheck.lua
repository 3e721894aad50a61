-- Notices a server that lost the keys or came back with old ones: then the
-- rebuild is due now. If announcements may have been missed, looking for what
-- was missed is due now, too.
-- KEYS 1 and, for the rebuild and for the look, schedule and processing: see
-- keys.lua. 6 timer:epoch, the run of the server that the keys belong to, with
-- a question mark in front while they are not complete: the announcement of the
-- rebuild can be missed like every other.
-- ARGV 1 is 1 if announcements may have been missed.
-- Returns the time in microseconds.
local function now_due(waits, taken)
  call('DEL', taken)
  call('ZREM', FINISHED, waits)
  schedule(waits, now)
end
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)')
local epoch = call('GET', KEYS[6])
if epoch ~= run then
  if epoch ~= '?' .. run then
    call('SET', KEYS[6], '?' .. run)
    now_due(KEYS[2], KEYS[3])
  elseif call('EXISTS', KEYS[2], KEYS[3]) == 0 then
    now_due(KEYS[2], KEYS[3])
  end
end
if ARGV[1] == '1' then now_due(KEYS[4], KEYS[5]) end
return { whole(time[1] * 1000000 + time[2]) }
