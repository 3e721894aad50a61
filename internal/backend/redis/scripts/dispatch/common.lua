-- What every script begins with, behind due/instants.lua: the clock, writes that
-- are gathered, and the records of jobs. lanes.lua, leases.lua and hand.lua
-- follow it, in this order, and then the script itself.
--
-- A job, in all scripts, is the id of an entry: any text, as job:12 or
-- statistics:8. Numbers in front of it have a fixed length or end with the first
-- colon, so that it may have colons itself.
--
-- KEYS, the same for every script, so that nothing undeclared is touched:
--   1 jobs:high, 2 jobs:low   streams of what is handed out
--   3 jobs:delayed            zset "number:job" -> due, in ms
--   4 jobs:waiting            zset of members in their order, all scores 0
--   5 jobs:turns              zset lane with HIGH -> number of its turn
--   6 jobs:parked             zset lane -> until, in ms
--   7 jobs:lanes              hash lane -> counters
--   8 jobs:records            hash job -> record
--   9 jobs:leases             zset "token:job" -> end of the lease, in ms
--  10 jobs:demand             zset "who n" -> until when he waits for n, in ms
--  11 jobs:meta               hash of single values
--  12 jobs:leader             string: who leads, with a time to live
--  13 jobs:lowturns           zset lane with LOW -> number of its turn
-- ARGV, the same for every script:
--   1 channel that wakes the leader
--   2 how long a lease lasts, in ms
--   3 how many entries of a lane may be leased at once, 0 for any number
--   4 job, 5 rank, 6 lane of the entry that is pushed when the books were
--     lost; an empty lane for none
--   7 the clock of a test in microseconds, '' for the server's
--   8 and on: the script's own
--
-- Numbers (of turns, of places in a queue, and tokens) come from one sequence
-- that never lags behind the clock in microseconds. So they do not repeat,
-- even if the server forgets everything or comes back with an old snapshot,
-- they have 16 digits, and they are exact in a double.
local HIGH, LOW, DELAYED, WAITING, TURNS, PARKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local LANES, RECORDS, LEASES, DEMAND, META, LEADER = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local LOWTURNS = KEYS[13]
local CHANNEL, LEASE, LIMIT = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local OWN = 8 -- the script's first own argument
local GROUP = 'workers'
local LONGEST_WAIT = 30000 -- in ms, of a call that waits
local MOST = 500 -- of each kind that one call takes care of
local LOW_TURN = 10 -- while LOW can be had, at least one entry in so many is LOW

local find, sub = string.find, string.sub

local now_us = microseconds(tonumber(ARGV[7]))
local now = math.floor(now_us / 1000)

-- Single values. wake is an instant before which nothing happens by itself.
-- clock is about when the last script ran, by the clock of then.
-- highs counts the HIGH entries in a row while LOW could be had.
local sequence, wake, clock, pumped, wanted, highs, loaded
local issued = false

-- issue returns the next number as text.
local function issue()
  sequence = sequence + 1
  issued = true
  return whole(sequence)
end

-- instant notes that something happens then.
local function instant(at)
  if at < wake then wake = at end
end

---------------------------------------------------------------------------
-- Writes are gathered and sent together. Whoever reads a set flushes first.

local added, removed, finished = {}, {}, {}
local records, touched = {}, {}

local function add(set, score, member)
  local list = added[set]
  if not list then
    list = { 'ZADD', set }
    added[set] = list
  end
  local n = #list
  list[n + 1] = score
  list[n + 2] = member
end

local function remove(set, member)
  local list = removed[set]
  if not list then
    list = { 'ZREM', set }
    removed[set] = list
  end
  list[#list + 1] = member
end

-- finish gathers an entry of a stream that nobody needs any more.
local function finish(stream, number)
  local list = finished[stream]
  if not list then
    list = {}
    finished[stream] = list
  end
  list[#list + 1] = number .. '-0'
end

local function flush_records()
  if not next(touched) then return end
  local set, gone = { 'HSET', RECORDS }, { 'HDEL', RECORDS }
  local n = 2
  for job in pairs(touched) do
    local r = records[job]
    if r then
      set[n + 1] = job
      set[n + 2] = r.state .. r.rank .. r.number .. r.deliveries .. ':' .. r.lane
      n = n + 2
    else
      gone[#gone + 1] = job
    end
  end
  touched = {}
  if n > 2 then send(set) end
  if #gone > 2 then send(gone) end
end

-- flush sends what was gathered. A member is never used again once it was
-- removed, so what is removed may go last.
local function flush()
  flush_records()
  for _, list in pairs(added) do send(list) end
  for _, list in pairs(removed) do send(list) end
  for stream, ids in pairs(finished) do
    for from = 1, #ids, 1000 do
      local to = math.min(from + 999, #ids)
      call('XACK', stream, GROUP, unpack(ids, from, to))
      call('XDEL', stream, unpack(ids, from, to))
    end
  end
  added, removed, finished = {}, {}, {}
end

---------------------------------------------------------------------------
-- Records: where the entry of a job is. The states are
--   f fresh and r returned: ready, number is the place in the queue;
--   d due fresh and a due again: number is part of the member of DELAYED;
--   l leased and p pumped: number is the token. Pumped is put into a stream
--     for whoever waits there, and nobody has reported it yet.

-- All fields are text.
local function unpack_record(text)
  local colon = find(text, ':', 19, true)
  return {
    state = sub(text, 1, 1),
    rank = sub(text, 2, 2),
    number = sub(text, 3, 18),
    deliveries = sub(text, 19, colon - 1),
    lane = sub(text, colon + 1),
  }
end

-- load reads the records of many jobs at once.
local function load(jobs)
  local unknown = {}
  for _, job in ipairs(jobs) do
    if records[job] == nil then
      unknown[#unknown + 1] = job
      records[job] = false
    end
  end
  for from = 1, #unknown, 1000 do
    local to = math.min(from + 999, #unknown)
    local texts = call('HMGET', RECORDS, unpack(unknown, from, to))
    for i = from, to do
      local text = texts[i - from + 1]
      if text then records[unknown[i]] = unpack_record(text) end
    end
  end
end

-- record returns a job's record, nil if it has none.
local function record(job)
  if records[job] == nil then load({ job }) end
  return records[job] or nil
end

local function touch(job) touched[job] = true end

local function forget(job)
  records[job] = false
  touched[job] = true
end

local function is_leased(r) return r.state == 'l' or r.state == 'p' end
local function is_low(r) return r.rank >= '2' end
local function stream_of(r) return is_low(r) and LOW or HIGH end

-- held returns the record of a lease that is still valid.
local function held(job, token)
  local r = record(job)
  if r and is_leased(r) and r.number == token then return r end
end
