-- Changes what is known of a group.
--
-- KEYS[1]  the group
-- ARGV[3]  'raise', and then for each count its name, what is stored as taken, and until
--          when that holds;
--          'park', the name of a gate and for how long;
--          'lift': every gate opens, and what answers told is forgotten
--
-- Returns nothing if the group must be restored. Else the group's epoch, number and
-- time, and for how long the gate is closed.

if not known() then
  return {}
end
local wait = 0
if ARGV[3] == 'raise' then
  for i = 4, #ARGV, 3 do
    local c = count(ARGV[i])
    if c then
      c.ceiling, c.covers, c.changed = max(c.ceiling, tonumber(ARGV[i + 1])), max(c.covers, tonumber(ARGV[i + 2])), true
    end
  end
elseif ARGV[3] == 'park' then
  local g = gate(ARGV[4])
  close(g, tonumber(ARGV[5]), PARKED)
  wait = g.till - now
else
  local fields = redis.call('HKEYS', key)
  for i = 1, #fields do
    local kind, name = string.sub(fields[i], 1, 2), string.sub(fields[i], 3)
    if kind == 'g:' then
      local g = gate(name)
      if g.till ~= 0 then
        g.till, g.half, g.pilot, g.since, g.strikes, g.changed = 0, 1, 0, 0, 0, true
      end
    elseif kind == 'c:' then
      local c = count(name)
      c.reported, c.lost, c.after, c.next, c.next_after, c.limit, c.window = -1, 0, 0, 0, 0, 0, 0
      c.changed = true
    end
  end
end
group.sequence = group.sequence + 1
write_down()
return { group.epoch, group.sequence, now, wait }
