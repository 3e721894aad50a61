-- Makes what was taken due at other instants, unless it was put anew or taken
-- again since.
-- KEYS and ARGV 1: see set.lua.
-- ARGV 2 and on, for each entry: the token, the id, the instant (even).
-- Returns nothing.
local before = first_of(DUE)
local ids, dues = {}, { 'ZADD', DUE }
for i = OWN, #ARGV, 3 do ids[#ids + 1] = ARGV[i + 1] end
local scores = call('ZMSCORE', DUE, unpack(ids))
for i, id in ipairs(ids) do
  local at = OWN + 3 * i - 3
  local score = tonumber(scores[i] or nil)
  if is_taken(score) and score == tonumber(ARGV[at]) then
    dues[#dues + 1] = ARGV[at + 2]
    dues[#dues + 1] = id
  end
end
if #dues > 2 then
  call(unpack(dues))
  tell_earlier(CHANNEL, first_of(DUE), before)
end
return {}
