-- Lanes. Part of every script, behind common.lua.
--
-- A lane's entries are a range of WAITING: its name with its length in
-- front cannot be the beginning of another's. Behind it come rank, 0 for
-- returned or 1 for fresh, number, deliveries and job.

local lanes = {}

-- turn and lowturn are the numbers of a lane's turns in HIGH and in LOW, 0 if
-- it does not take turns there. Earlier versions kept a small count where
-- lowturn is, and one turn for both; such a lane is put right when its turn
-- comes.
local function lane_of(name)
  local l = lanes[name]
  if l then return l end
  l = { name = name, prefix = #name .. ':' .. name, ready = 0, low = 0, leased = 0, lowturn = 0, turn = 0, parked = 0 }
  local text = call('HGET', LANES, name)
  if text then
    l.known = text
    local i = 0
    local fields = { 'ready', 'low', 'leased', 'lowturn', 'turn', 'parked' }
    for value in string.gmatch(text, '%d+') do
      i = i + 1
      l[fields[i]] = tonumber(value)
    end
    if l.lowturn < 1000000 then l.lowturn = 0 end
  end
  l.seated, l.lowseated = l.turn, l.lowturn
  lanes[name] = l
  return l
end

local function flush_seat(set, name, turn, seated)
  if turn == seated then return end
  if turn > 0 then call('ZADD', set, whole(turn), name) else call('ZREM', set, name) end
end

local function flush_lanes()
  for name, l in pairs(lanes) do
    flush_seat(TURNS, name, l.turn, l.seated)
    flush_seat(LOWTURNS, name, l.lowturn, l.lowseated)
    l.seated, l.lowseated = l.turn, l.lowturn
    local text = nil
    if l.ready > 0 or l.leased > 0 or l.parked > 0 then
      text = format('%d %d %d %d %d %d', l.ready, l.low, l.leased, l.lowturn, l.turn, l.parked)
    end
    if text ~= l.known then
      if text then call('HSET', LANES, name, text) else call('HDEL', LANES, name) end
      l.known = text
    end
  end
end

-- turn_if returns the number of a lane's turn: it keeps the one it has, or
-- begins behind the others, or has none.
local function turn_if(can, turn)
  if not can then return 0 end
  if turn > 0 then return turn end
  issue()
  return sequence
end

-- seat lets a lane take turns, in each priority of which it can give something,
-- and only there.
local function seat(l)
  local open = l.parked == 0 and (LIMIT <= 0 or l.leased < LIMIT)
  l.turn = turn_if(open and l.ready > l.low, l.turn)
  l.lowturn = turn_if(open and l.low > 0, l.lowturn)
end

local function waiting_member(job, r, l)
  local kind = r.state == 'r' and '0' or '1'
  return l.prefix .. r.rank .. kind .. r.number .. r.deliveries .. ':' .. job
end

-- enqueue makes an entry ready that was nowhere. It goes behind the others of
-- its kind: those handed out before, or the fresh ones.
local function enqueue(job, r)
  r.state = r.state == 'a' and 'r' or 'f'
  r.number = issue()
  touch(job)
  local l = lane_of(r.lane)
  add(WAITING, '0', waiting_member(job, r, l))
  l.ready = l.ready + 1
  if is_low(r) then l.low = l.low + 1 end
  seat(l)
end

-- left notes that a ready entry is out of its lane's queue.
local function left(l, low)
  l.ready = l.ready - 1
  if low then l.low = l.low - 1 end
end

-- delay lets an entry that was nowhere wait for an instant.
local function delay(job, r, at)
  r.number, r.at = issue(), at
  touch(job)
  add(DELAYED, whole(at), r.number .. ':' .. job)
  instant(at)
end

-- undelay takes an entry out of those that wait for an instant.
local function undelay(job, r) remove(DELAYED, r.number .. ':' .. job) end

-- push makes an entry known, or moves up one that waits for an instant.
local function push(job, rank, at, lane)
  local r = record(job)
  if not r then
    r = { state = 'd', rank = rank, number = '', deliveries = '0', lane = lane }
    records[job] = r
    if at > now then delay(job, r, at) else enqueue(job, r) end
    return
  end
  if r.state ~= 'd' and r.state ~= 'a' then return end
  if at <= now then
    undelay(job, r)
    enqueue(job, r)
    return
  end
  local was = r.at or tonumber(call('ZSCORE', DELAYED, r.number .. ':' .. job) or NEVER)
  if at < was then
    undelay(job, r)
    delay(job, r, at)
  end
end
