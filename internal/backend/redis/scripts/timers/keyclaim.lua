-- Takes timers whose instants were announced, unless another one has them.
-- KEYS 1 and, for each timer, schedule and processing: see keys.lua.
-- ARGV 1 token, 2 grace in ms.
-- Returns the time in microseconds and, for each timer, 1 if it is taken.
local answer = { whole(now_us) }
for i = 2, #KEYS, 2 do
  local taken = '0'
  if call('EXISTS', KEYS[i]) == 0 and not call('ZSCORE', FINISHED, KEYS[i])
    and call('SET', KEYS[i + 1], ARGV[1], 'PX', ARGV[2], 'NX') then
    taken = '1'
  end
  answer[#answer + 1] = taken
end
return answer
