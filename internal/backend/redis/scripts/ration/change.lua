-- Changes what is known of a group.
--
-- KEYS[1]  the group
-- ARGV[3]  'raise', and then for each count its name, what is stored as taken, until when
--          that holds, and the number that orders what is stored: if more is being stored
--          already that is waited for;
--          'park', the name of a gate and for how long;
--          'return', how many calls, 1 if they were not urgent else 0, and the counts
--          that they were taken of;
--          'lift': every gate opens, and what answers told is forgotten
--
-- Returns nothing if the group must be restored. Else the HEAD, and for how long the
-- gate is closed.

if not known() then
  return {}
end
local wait = 0

-- give_back gives back calls that were taken in bulk and not made.
local function give_back(name, n, low)
  local c, t = count(name)
  if not c then
    return
  end
  advance(c, t, 0)
  c.changed = true
  if t.shape == BUCKET then
    if t.paced == 0 then
      owe(c, t, now, max(owed(c, t, now) - n * t.period, 0))
    end
    return
  end
  for at = #c.slots - 15, 1, -16 do
    if n == 0 then
      break
    end
    local last, have = unpack_of('<dd', c.slots, at)
    local back = min(n, have)
    c.slots = sub(c.slots, 1, at - 1)
    if have > back then
      c.slots = c.slots .. pack('<dd', last, have - back)
    end
    c.spent, n = c.spent - back, n - back
    if low then
      c.low = max(c.low - back, 0)
    end
  end
end

if ARGV[3] == 'raise' then
  for i = 4, #ARGV, 4 do
    local c = count(ARGV[i])
    if c and c.issued == tonumber(ARGV[i + 3]) then
      c.ceiling, c.covers, c.changed = max(c.ceiling, tonumber(ARGV[i + 1])), max(c.covers, tonumber(ARGV[i + 2])), true
    end
  end
elseif ARGV[3] == 'return' then
  for i = 6, #ARGV do
    give_back(ARGV[i], tonumber(ARGV[4]), ARGV[5] == '1')
  end
elseif ARGV[3] == 'park' then
  local g = gate(ARGV[4])
  close(g, tonumber(ARGV[5]), PARKED)
  wait = g.till - now
else
  local fields = redis.call('HKEYS', key)
  for i = 1, #fields do
    local kind, name = sub(fields[i], 1, 2), sub(fields[i], 3)
    if kind == 'g:' then
      local g = gate(name)
      if g.half == 1 then
        g.till, g.half, g.pilot, g.since, g.strikes, g.changed = 0, 1, 0, 0, 0, true
      end
    elseif kind == 'c:' then
      local c = count(name)
      if c.dated then
        mistrust_dated(c, c.dated)
      else
        c.reported, c.lost, c.after, c.next, c.next_after, c.limit, c.window = -1, 0, 0, 0, 0, 0, 0
        c.changed = true
      end
    end
  end
end
group.sequence = group.sequence + 1
write_down()
return head({ 0, 0, 0, 0, 0, 0, 0, 0, wait })
