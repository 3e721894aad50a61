-- Notices a server that lost the keys or came back with old ones, and a clock
-- that was set back, by which keys of what was taken outlast their grace: then
-- the rebuild is due now, which sets every timer anew. If announcements may have
-- been missed, looking for what was missed is due now, too.
-- KEYS 1 and, for the rebuild and for the look, schedule and processing: see
-- keys.lua. 6 timer:epoch: see keys.lua.
-- ARGV 1 is 1 if announcements may have been missed, 2 grace in ms.
-- Returns the time in microseconds.
local function now_due(waits, taken)
  call('DEL', taken)
  call('ZREM', FINISHED, waits)
  schedule(waits, now)
end
local run, grace = server_run(), tonumber(ARGV[2])
local epoch, looked = epoch_of(KEYS[6])
local before = epoch
local lost = epoch ~= run and epoch ~= '?' .. run
if was_set_back(looked, now, grace) then
  call('DEL', FINISHED)
  lost = true
end
if lost then epoch = '?' .. run end
if lost or (epoch ~= run and call('EXISTS', KEYS[2], KEYS[3]) == 0) then now_due(KEYS[2], KEYS[3]) end
if epoch ~= before or math.abs(now - looked) * 2 > grace then note_epoch(KEYS[6], epoch) end
if ARGV[1] == '1' then now_due(KEYS[4], KEYS[5]) end
return { whole(now_us) }
