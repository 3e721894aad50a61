-- Tells what is known about a group; changes nothing.
--
-- KEYS[1]  the group
-- ARGV[3]  ''
-- ARGV[4]  and on: counts that are told of even if nobody has asked for them (base.lua)
--
-- Returns nothing if the group must be restored. Else '', and for each count its field,
-- the limit, what may be taken, what is under way, what is kept, in how long something
-- comes back (0 if nothing is taken), what is spent, what of that was not urgent, and 1 if
-- nothing was ever taken as far as is known; for each gate that is closed its field, the
-- reason, for how long, and six zeros.

if not known() then
  return {}
end
read_entries()
local all, fields, listed = { '' }, redis.call('HKEYS', key), {}
for _, field in ipairs(fields) do
  listed[field] = true
end
for i, e in ipairs(entries) do
  -- A count that was drawn on stays as whoever drew on it wants it.
  local text = listed['c:' .. e.name] and redis.call('HGET', key, 'c:' .. e.name)
  if not text or unpack_of('<d', text, PRESUMED_AT) > 0 then
    entered(i)
  end
  if not text then
    fields[#fields + 1] = 'c:' .. e.name
  end
end
for _, field in ipairs(fields) do
  local kind, name = sub(field, 1, 2), sub(field, 3)
  if kind == 'c:' then
    local c, t = count(name)
    -- Whoever asks for a restored count first brings its terms.
    if c.presumed == 0 then
      advance(c, t, 0)
    end
    local limit = granted(c, t)
    local left, untouched = limit - used(c, t), 0
    if c.reported >= 0 then
      left = min(left, c.reported - c.inflight - lost(c))
    end
    local kept, resets = limit - usable(t, limit, false), 0
    if c.dated then
      local d = c.dated
      kept = dated_floor(d, t, false)
      left = dated_available(d)
      if d.trial == 1 then
        left = min(left, max(d.rest, kept + 1))
      end
      resets = dated_end(d, t) or 0
      untouched = untouched_dated(d) and 1 or 0
    elseif t.shape == BUCKET then
      resets = c.full + min(c.rest, 1)
    elseif c.finish > 0 then
      resets = c.finish
    elseif #c.slots > 0 then
      resets = unpack_of('<d', c.slots) + t.period
    end
    all[#all + 1] = { field, limit, max(left - kept, 0), c.dated and c.dated.inflight or c.inflight, kept,
      max(resets - now, 0), used(c, t), min(c.low, used(c, t)), untouched }
  elseif kind == 'g:' then
    local g = gate(name)
    if now < g.till then
      all[#all + 1] = { field, g.why, g.till - now, 0, 0, 0, 0, 0, 0 }
    end
  end
end
return all
