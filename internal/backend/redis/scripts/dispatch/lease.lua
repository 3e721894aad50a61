-- Leases entries to calls of one consumer. What a blocking read of a call
-- brought is confirmed first and counts; what it brought beyond what the call
-- wants goes back. A call that ends up with nothing is noted as waiting.
-- KEYS and ARGV 1 to 7: see common.lua.
-- ARGV 8 consumer, 9 '1' to make sure that there is a group to read from, and
-- for each call: who waits ("name n": for up to n), what was noted for it
-- before ('' for nothing), for how many ms it can wait, how many entries its
-- read brought, and for each of these: job, token.
-- Returns how long in ms the calls without leases may block before they ask
-- again, and for each call: how many leases, and for each of these: job,
-- token, rank, deliveries, lane.
local consumer = ARGV[OWN]
local calls, missing = {}, 0

local function hand(c, job, r)
  c[#c + 1] = job
  missing = missing - 1
  reported(job, r)
  extend(job, r)
end

local function confirm(c, job, token)
  local r = held(job, token)
  if not r then return end
  if #c < c.want then hand(c, job, r) else give_back(job, r, 0) end
end

-- short returns the first call that wants more.
local next_call = 1
local function short()
  while #calls[next_call] >= calls[next_call].want do next_call = next_call + 1 end
  return calls[next_call]
end

-- collect hands out what lies in a stream and nobody has read.
local function collect(stream)
  if missing <= 0 then return end
  for _, entry in ipairs(read(stream, consumer, missing, '$')) do
    local token, job = string.match(entry[1], '^(%d+)'), entry[2] and entry[2][2]
    local r = job and held(job, token)
    if r then
      hand(short(), job, r)
    else
      call('XACK', stream, GROUP, entry[1])
      call('XDEL', stream, entry[1])
    end
  end
end

if ARGV[OWN + 1] == '1' then
  for _, stream in ipairs({ HIGH, LOW }) do redis.pcall('XGROUP', 'CREATE', stream, GROUP, '$', 'MKSTREAM') end
end

local i = OWN + 2
while i <= #ARGV do
  local c = { who = ARGV[i], before = ARGV[i + 1], wait = tonumber(ARGV[i + 2]), want = demanded(ARGV[i]) }
  calls[#calls + 1] = c
  missing = missing + c.want
  local brought = tonumber(ARGV[i + 3])
  i = i + 4
  for _ = 1, brought do
    confirm(c, ARGV[i], ARGV[i + 1])
    i = i + 2
  end
end
if pumped > 0 then
  collect(HIGH)
  collect(LOW)
end
tick()
if missing > 0 then
  local before = whole(sequence)
  local jobs, high, low = take(missing, 'l')
  if high > 0 then read(HIGH, consumer, high, before .. '-0') end
  if low > 0 then read(LOW, consumer, low, before .. '-0') end
  for _, job in ipairs(jobs) do
    local c = short()
    c[#c + 1] = job
  end
end

-- grace is how long those who wait leave it to the leader to serve an instant.
local grace

local function block(c)
  if wake <= now then return 1 end
  grace = grace or 300 * call('EXISTS', LEADER)
  return math.min(c.wait, wake - now + grace)
end

local answer, shortest = { 0 }, NEVER
for _, c in ipairs(calls) do
  if c.before ~= '' and (#c > 0 or c.before ~= c.who) then drop_demand(c.before) end
  if #c == 0 then
    local time = block(c)
    add_demand(c.who, now + time + 1000)
    shortest = math.min(shortest, time)
  end
  table.sort(c, function(a, b) return records[a].number < records[b].number end)
  answer[#answer + 1] = #c
  for _, job in ipairs(c) do
    local r = records[job]
    answer[#answer + 1] = job
    answer[#answer + 1] = r.number
    answer[#answer + 1] = r.rank
    answer[#answer + 1] = r.deliveries
    answer[#answer + 1] = r.lane
  end
end
answer[1] = shortest
close_books()
return answer
