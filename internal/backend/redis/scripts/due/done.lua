-- Forgets what was taken, unless it was put anew or taken again since.
-- KEYS and ARGV 1: see set.lua.
-- ARGV 2 and on, for each entry: the token, the id.
-- Returns nothing.
local ids, gone = {}, { 'ZREM', DUE }
for i = OWN, #ARGV, 2 do ids[#ids + 1] = ARGV[i + 1] end
local scores = call('ZMSCORE', DUE, unpack(ids))
for i, id in ipairs(ids) do
  local score = tonumber(scores[i] or nil)
  if is_taken(score) and score == tonumber(ARGV[OWN + 2 * i - 2]) then gone[#gone + 1] = id end
end
if #gone > 2 then call(unpack(gone)) end
return {}
