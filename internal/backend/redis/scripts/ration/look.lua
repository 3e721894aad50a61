-- Tells what is known about a group; changes nothing.
--
-- KEYS[1]  the group
-- ARGV[3]  ''
-- ARGV[4]  '0'
-- ARGV[5]  counts that are told of even if nobody has asked for them (entries in learn.lua)
--
-- Returns nothing if the group must be restored. Else '', and for each count its field,
-- the limit, what may be taken, what is under way, what is kept, in how long something
-- comes back (0 if nothing is taken), what is spent, and what of that was not urgent; for
-- each gate that is closed its field, the reason, for how long, and five zeros.

if not known() then
  return {}
end
read_entries()
local all, fields, listed = { '' }, redis.call('HKEYS', key), {}
for _, field in ipairs(fields) do
  listed[field] = true
end
for i, e in ipairs(entries) do
  entered(i)
  if not listed['c:' .. e.name] then
    fields[#fields + 1] = 'c:' .. e.name
  end
end
for _, field in ipairs(fields) do
  local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
  if kind == 'c:' then
    local c, t = count(name)
    -- Whoever asks for a restored count first brings its terms.
    if c.presumed == 0 then
      advance(c, t, 0)
    end
    local limit = granted(c, t)
    local left = limit - used(c, t)
    if c.reported >= 0 then
      left = min(left, c.reported - c.inflight - lost(c))
    end
    local kept, resets = limit - usable(t, limit, false), 0
    if t.shape == BUCKET then
      resets = c.full + min(c.rest, 1)
    elseif c.finish > 0 then
      resets = c.finish
    elseif #c.slots > 0 then
      resets = unpack_of('<d', c.slots) + t.period
    end
    all[#all + 1] = { field, limit, max(left - kept, 0), c.inflight, kept, max(resets - now, 0), used(c, t),
      min(c.low, used(c, t)) }
  elseif kind == 'g:' then
    local g = gate(name)
    if now < g.till then
      all[#all + 1] = { field, g.why, g.till - now, 0, 0, 0, 0, 0 }
    end
  end
end
return all
