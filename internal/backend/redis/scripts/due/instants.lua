-- Instants: how everything waits for its time. The first part of every script
-- that lets something wait: those of due sets, of the dispatcher and of keys that
-- expire.
--
-- What waits is in sorted sets, member -> instant. Instants are whole numbers
-- since 1970: microseconds in due sets, milliseconds in the dispatcher's. They
-- are judged by the clock of the server. Those who wait know an instant before
-- which nothing happens; whoever puts an earlier one tells them.
local call, format = redis.call, string.format
local NEVER = 9007199254740991

-- whole writes a number without a fraction; numbers as such would lose digits.
local function whole(number) return format('%d', number) end

-- microseconds returns the time: the server's, or what a test says it is.
local function microseconds(told)
  if told then return told end
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- send calls a command with a list of arguments. The first two stay in front
-- where there are too many for one call.
local function send(list)
  if #list <= 4000 then
    call(unpack(list))
    return
  end
  for from = 3, #list, 1000 do call(list[1], list[2], unpack(list, from, math.min(from + 999, #list))) end
end

-- first_of returns the earliest instant of a set.
local function first_of(set)
  local found = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return tonumber(found[2]) or NEVER
end

-- due_in returns the members of a set whose instants have come, the earliest
-- first and no more than so many; each with its instant if 'WITHSCORES' follows.
local function due_in(set, now, most, ...)
  return call('ZRANGE', set, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, most, ...)
end

-- tell_earlier tells those who wait of an instant that is earlier than the one
-- they know of. They wait no longer than that, and it only moves towards the
-- present by being told here.
local function tell_earlier(channel, now, before)
  if now < before then call('PUBLISH', channel, whole(now)) end
end

-- was_set_back says whether the clock was set back, by more than the longest time
-- for which something is put: a note of the time that was made before lies ahead.
local function was_set_back(noted, now, longest) return noted > now + longest end

-- no_later makes up for a clock that was set back: what was put for a time that
-- began then ends when it does if it begins now. It brings forward to that
-- instant what is set for later, up to an end, if there is one, and as far as a
-- filter says, if there is one.
local function no_later(set, last, ends, filter)
  local found = call('ZRANGE', set, '(' .. whole(last), ends and whole(ends) or '+inf', 'BYSCORE', 'WITHSCORES')
  local list = { 'ZADD', set }
  for i = 1, #found, 2 do
    if not filter or filter(tonumber(found[i + 1])) then
      list[#list + 1] = whole(last)
      list[#list + 1] = found[i]
    end
  end
  if #list > 2 then send(list) end
end

-- server_run returns the run of the server, which is another one after every
-- start. Asking for it takes longer than everything else that a script does.
local function server_run() return string.match(call('INFO', 'server'), 'run_id:(%x+)') end
