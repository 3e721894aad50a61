-- What all scripts but the short ways begin with: what is known of the group.

-- group is what is known, nil if nothing is that can be trusted: another server wrote
-- it, as this one was started from a snapshot or took over, or it is older than the
-- caller has seen, or than what is stored.
--
-- strict is the longest period that a bucket paces, turns how often somebody told what
-- time it is, and scale how often that was a newcomer for whom nobody vouched. The others
-- bound how far the upstream's clock is ahead (Skew).
local group, now
-- stranger is for how long the caller is granted nothing by buckets that pace, told what
-- it is told of that, and stands where time stood before it came.
local stranger, told, stands, rescaled = 0, 0, nil, 0

local function read_group()
  local texts = redis.call('HMGET', key, 'm', 'k')
  local text, rest = texts[1], texts[2]
  if not text or #text ~= META_SIZE or not rest or #rest ~= REST_SIZE then
    return nil
  end
  local g = {}
  g.sequence, g.offset, g.now, g.turns, g.checked, g.alive, g.epoch, g.scale, g.strict, g.server, g.sweep, g.best, g.since,
    g.ahead = unpack_of(META, text)
  g.known, g.slack, g.old_known, g.old_ahead, g.old_slack, g.born = unpack_of(REST, rest)
  return g
end

-- meet_stranger finds out whether the caller can tell what time it is.
local function meet_stranger(g)
  local ran = clock - caller_clock
  if caller_epoch ~= g.epoch
    or (newcomer == 1 or caller_scale ~= g.scale) and (ran < since_least - 1 or ran > since_most + 1) then
    stranger, told = g.strict, 2
  elseif newcomer == 1 and g.turns <= caller_turns then
    if since_least < g.strict then
      stranger, told = g.strict - since_least, 1
    else
      rescaled = 1
    end
  end
end

local function known()
  local g = read_group()
  if g then
    local same
    same, g.checked = is_this(g.server, g.checked)
    if not same then
      return false
    end
  end
  if not g or stored_sequence > g.sequence or caller_epoch > g.epoch
    or caller_epoch == g.epoch and caller_sequence > g.sequence then
    return false
  end
  now = clock + g.offset
  if g.strict > 0 then
    meet_stranger(g)
  end
  if caller_epoch == g.epoch and caller_scale == g.scale then
    if newcomer == 0 then
      now = min(now, at_most)
    end
    now = max(now, at_least)
  end
  now = max(now, g.now)
  if stranger > 0 then
    stands = { offset = g.offset, now = g.now }
  else
    g.turns, g.scale = g.turns + 1, g.scale + rescaled
  end
  g.offset, g.now = now - clock, now
  group = g
  return true
end

-- write_group keeps what is known of the group, and the fields that are given: pairs of
-- names and values.
local function write_group(fields)
  local g, time, n = group, stands or group, #fields
  local renew = clock >= g.alive or clock < g.alive - RENEWED
  if renew then
    g.alive = clock + RENEWED
  end
  fields[n + 1], fields[n + 2] = 'm', pack(META, g.sequence, time.offset, time.now, g.turns, g.checked, g.alive, g.epoch,
    g.scale, g.strict, g.server, g.sweep, g.old_known == 1 and max(g.ahead, g.old_ahead) or g.ahead, g.since, g.ahead)
  fields[n + 3], fields[n + 4] = 'k', pack(REST, g.known, g.slack, g.old_known, g.old_ahead, g.old_slack, g.born)
  redis.call('HSET', key, unpack(fields))
  if renew then
    -- Three days: what takes longer is stored elsewhere.
    redis.call('EXPIRE', key, '259200')
  end
end

-- head fills in the HEAD of an answer.
local function head(answer)
  answer[1], answer[2], answer[3] = group.epoch, group.sequence, (stands or group).now
  answer[4], answer[5], answer[6], answer[7], answer[8] = group.turns, clock, told, group.scale, found
  return answer
end

local function read_terms(text, at)
  local t = {}
  t.shape, t.limit, t.assumed, t.refill, t.period, t.open, t.keep, t.use, t.low, t.calendar, t.reads, t.stored,
    t.reserve, t.ahead, t.paced, t.dated, t.own, t.patient = unpack_of(TERMS, text, at)
  return t
end

-- adapt puts what the upstream told of a ration into its terms.
local function adapt(c, t)
  if c.refill > 0 and t.shape == BUCKET then
    t.refill = c.refill
  end
  if c.window > 0 and t.open == 1 then
    t.period = c.window
  end
end
