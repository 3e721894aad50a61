-- Handing out, and opening and closing the books. Part of every script, behind
-- leases.lua.

local heads -- what take has read of each lane

-- head returns the next waiting member of a lane's HIGH or LOW, nil if there
-- is none.
local function head(l, low, most)
  local key = l.name .. (low and '2' or '0')
  local h = heads[key]
  if not h or (h.at > #h and #h > 0) then
    local from = h and '(' .. h[#h] or '[' .. l.prefix .. (low and '2' or '0')
    h = call('ZRANGE', WAITING, from, '(' .. l.prefix .. (low and '4' or '2'), 'BYLEX', 'LIMIT', 0, most)
    h.at = 1
    heads[key] = h
  end
  local member = h[h.at]
  h.at = h.at + 1
  return member
end

-- take_from leases the next entry of a lane, HIGH or LOW, and returns its job
-- and record.
local function take_from(l, low, state, most)
  local member = head(l, low, most)
  if not member then
    -- Somebody has changed the books by hand, or another version wrote them.
    -- What is left is counted anew.
    flush()
    heads = {}
    local from, to = '[' .. l.prefix, '(' .. l.prefix .. '4'
    l.ready = call('ZLEXCOUNT', WAITING, from, to)
    l.low = call('ZLEXCOUNT', WAITING, '[' .. l.prefix .. '2', to)
    l.turn, l.lowturn = 0, 0
    seat(l)
    return
  end
  left(l, low)
  l.leased = l.leased + 1
  if low then l.lowturn = 0 else l.turn = 0 end
  seat(l)
  remove(WAITING, member)
  local at = #l.prefix
  local colon = find(member, ':', at + 19, true)
  local job = sub(member, colon + 1)
  local r = {
    state = state, rank = sub(member, at + 1, at + 1), number = issue(),
    deliveries = whole(sub(member, at + 19, colon - 1) + 1), lane = l.name,
  }
  records[job] = r
  touch(job)
  extend(job, r)
  call('XADD', stream_of(r), r.number .. '-0', 'job', job)
  return job, r
end

-- line is the lanes that take turns in a set, up to n of them, the next first.
local function line(set, field, n)
  local q = call('ZRANGE', set, 0, n - 1)
  q.set, q.field, q.first, q.last = set, field, 1, #q
  return q
end

-- peek returns the lane whose turn it is, nil if there is none.
local function peek(q)
  while q.first <= q.last do
    local l = lane_of(q[q.first])
    if l[q.field] > 0 then return l end
    call('ZREM', q.set, l.name)
    q.first = q.first + 1
  end
end

-- take leases up to n entries, HIGH first but for LOW's share, one of each lane
-- in turn, puts them into the streams and returns their jobs.
local function take(n, state)
  flush()
  flush_lanes()
  heads = {}
  local jobs, high, low = {}, 0, 0
  local high_line, low_line = line(TURNS, 'turn', n), line(LOWTURNS, 'lowturn', n)
  local lanes_in_line = high_line.last + low_line.last
  local most = lanes_in_line > 0 and math.ceil(n / lanes_in_line) or 0
  while #jobs < n do
    local high_lane, low_lane = peek(high_line), peek(low_line)
    if not high_lane and not low_lane then break end
    local is_lows = low_lane and (not high_lane or highs >= LOW_TURN - 1)
    local q = is_lows and low_line or high_line
    local l = is_lows and low_lane or high_lane
    q.first = q.first + 1
    local job = take_from(l, is_lows, state, most)
    if job then
      jobs[#jobs + 1] = job
      if is_lows then low = low + 1 else high = high + 1 end
      highs = (is_lows or not low_lane) and 0 or highs + 1
    else
      -- It may take turns elsewhere now.
      local other = is_lows and high_line or low_line
      if l[other.field] > 0 then
        other.last = other.last + 1
        other[other.last] = l.name
      end
    end
    if l[q.field] > 0 then
      q.last = q.last + 1
      q[q.last] = l.name
    end
  end
  flush()
  return jobs, high, low
end

-- read delivers up to n entries of a stream to a consumer. If somebody has
-- deleted the group it is made anew, from an id on: what was in the stream
-- before is either held by somebody or comes back when its lease ends.
local function read(stream, consumer, n, from)
  local function attempt()
    return redis.pcall('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', n, 'STREAMS', stream, '>')
  end
  local reply = attempt()
  if reply and reply.err then
    if not find(reply.err, 'NOGROUP', 1, true) then error(reply.err) end
    call('XGROUP', 'CREATE', stream, GROUP, from, 'MKSTREAM')
    reply = attempt()
  end
  return reply and reply[1] and reply[1][2] or {}
end

-- Demand: who waits in a blocking read, and for how many.

local function demanded(who) return tonumber(string.match(who, ' (%d+)$')) end

local function drop_demand(who)
  if call('ZREM', DEMAND, who) == 1 then wanted = wanted - demanded(who) end
end

local function add_demand(who, ends)
  if call('ZADD', DEMAND, whole(ends), who) == 1 then wanted = wanted + demanded(who) end
end

-- pump puts what is ready into the streams, as much of it as is waited for
-- there: those who wait get it at once.
local function pump()
  if wanted <= pumped then return end
  for _, who in ipairs(call('ZRANGE', DEMAND, '-inf', whole(now), 'BYSCORE')) do drop_demand(who) end
  if wanted <= pumped then return end
  pumped = pumped + #take(math.min(wanted - pumped, MOST), 'p')
end

---------------------------------------------------------------------------
-- Opening and closing the books.

local function push_on_loss()
  if ARGV[6] ~= '' then push(ARGV[4], ARGV[5], 0, ARGV[6]) end
end

-- last_id returns the number of the last entry that a stream ever had.
local function last_id(stream)
  if call('EXISTS', stream) == 0 then return 0 end
  local facts = call('XINFO', 'STREAM', stream)
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' then return tonumber(string.match(facts[i + 1], '^%d+')) end
  end
  return 0
end

-- open_books reads the single values. If they are missing, everything was
-- lost: a new epoch begins.
local function open_books()
  loaded = call('HMGET', META, 'epoch', 'sequence', 'wake', 'pumped', 'wanted', 'highs', 'clock')
  sequence = math.max(tonumber(loaded[2] or 0), now_us, 1000000000000000)
  wake = tonumber(loaded[3] or NEVER)
  pumped = tonumber(loaded[4] or 0)
  wanted = tonumber(loaded[5] or 0)
  highs = tonumber(loaded[6] or 0)
  clock = tonumber(loaded[7] or 0)
  if not loaded[1] then
    sequence = math.max(sequence, last_id(HIGH), last_id(LOW))
    wake = 0
    call('HSET', META, 'epoch', whole(now))
    push_on_loss()
  end
end

-- close_books writes everything and tells the leader of an instant that is
-- earlier than the one it knows of.
local function close_books()
  pump()
  flush()
  flush_lanes()
  local changes = { 'HSET', META }
  local function note(name, value, was)
    value = whole(value)
    if value ~= was then
      changes[#changes + 1] = name
      changes[#changes + 1] = value
    end
  end
  if issued then note('sequence', sequence, loaded[2]) end
  note('wake', wake, loaded[3])
  note('pumped', pumped, loaded[4])
  note('wanted', wanted, loaded[5])
  note('highs', highs, loaded[6] or '0')
  if math.abs(now - clock) * 2 > LEASE then note('clock', now, loaded[7]) end
  if #changes > 2 then send(changes) end
  tell_earlier(CHANNEL, wake, tonumber(loaded[3] or NEVER))
end

open_books()
