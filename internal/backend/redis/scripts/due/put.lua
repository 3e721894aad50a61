-- Makes entries due at instants, unless they are due earlier already. What is
-- taken is in nobody's hands any more, and due at the end of its grace at the
-- latest.
-- KEYS and ARGV 1: see set.lua.
-- ARGV 2 and on, for each entry: its instant (even), its id.
-- Returns nothing.
local before = first_of(DUE)
local ids, dues, free = {}, { 'ZADD', DUE, 'LT' }, { 'ZADD', DUE }
for i = OWN, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i + 1]
  dues[#dues + 1] = ARGV[i]
  dues[#dues + 1] = ARGV[i + 1]
end
local scores = call('ZMSCORE', DUE, unpack(ids))
for i, id in ipairs(ids) do
  local score = tonumber(scores[i] or nil)
  if is_taken(score) then
    free[#free + 1] = whole(score + 1)
    free[#free + 1] = id
  end
end
if #free > 2 then call(unpack(free)) end
call(unpack(dues))
tell_earlier(CHANNEL, first_of(DUE), before)
return {}
