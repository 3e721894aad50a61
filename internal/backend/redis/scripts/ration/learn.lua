-- What a call took, and what its answer told (keeper.Count's settle.go), and how long more
-- is waited for.

-- learnt is how long a window is that an upstream tells of.
local function learnt(n)
  return min(n, 745 * 3600 * SECOND)
end

-- begin opens a later window.
local function begin(c, t, finish, early, id, a)
  confirm(c, id)
  local spent = lost(c) + max(granted(c, t) - a.left, 0)
  c.slots, c.spent = '', 0
  if spent > 0 then
    c.slots, c.spent = pack('<dd', now, spent), spent
  end
  c.finish, c.early, c.reported = finish, early, -1
  c.ceiling, c.covers, c.issued = 0, 0, 0
end

-- place says whether an answer tells of this window.
local function place(c, t, granted_at, id, a)
  local finish, early = now + a.ends + margin(t), granted_at + a.ends - SECOND
  local jitter = min(SECOND, floor(t.period / 2)) + margin(t)
  if c.finish == 0 then
    c.finish, c.early = finish, early
  elseif early > c.finish + jitter then
    if a.left < 0 then
      return false
    end
    begin(c, t, finish, early, id, a)
  elseif finish < c.early - jitter then
    return false
  else
    c.finish, c.early = max(c.finish, finish), min(c.early, early)
  end
  return true
end

-- learn_pace believes how fast a bucket refills, and how long a window is whose period
-- was not declared.
local function learn_pace(c, t, a)
  if t.shape == BUCKET and a.refill > 0 and a.refill ~= t.refill then
    local units = used(c, t) - c.inflight
    c.refill = a.refill
    adapt(c, t)
    owe(c, t, now, units * t.period)
  end
  if t.open == 0 then
    return
  end
  if a.window > 0 then
    c.window = learnt(a.window)
  elseif a.ends > t.period then
    c.window = learnt(a.ends)
  end
  adapt(c, t)
end

local function learn(c, t, granted_at, id, a)
  if c.dated then
    learn_dated(c, c.dated, t, word(id, 0, a))
    return
  end
  if a.limit > 0 then
    c.limit = a.limit
  elseif t.assumed == 1 and a.left >= 0 then
    c.limit = max(c.limit, a.left + used(c, t))
  end
  learn_pace(c, t, a)
  if t.shape == CONCURRENT then
    return
  end
  if t.shape == BUCKET then
    if a.left >= 0 then
      confirm(c, id)
      local taken = granted(c, t) - min(a.left, granted(c, t)) + lost(c)
      if taken * t.period > owed(c, t, now) then
        owe(c, t, now, taken * t.period)
      end
    end
    return
  end
  if t.shape == FIXED and t.calendar == 0 and a.ends > 0 and a.ends <= 2 * t.period + 60 * SECOND then
    if not place(c, t, granted_at, id, a) then
      return
    end
  end
  if a.left < 0 then
    return
  end
  confirm(c, id)
  if c.reported < 0 or id > c.told or a.left < c.reported then
    c.reported, c.told_at = a.left, now
  end
  c.told = max(c.told, c.newest)
end

local function known_answer(a)
  return a.left >= 0 or a.limit > 0 or a.ends > 0 or a.refill > 0 or a.window > 0
end

local function settle(c, t, granted_at, id, price, a)
  if c.dated then
    c.changed = true
    local give = a.free == 1 and refund_dated or settle_dated
    give(c, c.dated, t, price, word(id, price, a))
    return
  end
  c.inflight = max(c.inflight - price, 0)
  local took = price
  if a.free == 1 then
    took = 0
  elseif a.cost > 0 then
    took = a.cost
  end
  spend(c, t, now, took)
  c.changed = true
  if not known_answer(a) then
    if t.reads == 1 then
      add_lost(c, took)
    end
    return
  end
  learn(c, t, granted_at, id, a)
end

-- charge counts what a call took that was granted on another count.
local function charge_other(c, t, granted_at, id, a)
  if not c.dated then
    settle(c, t, granted_at, id, 0, a)
    return
  end
  c.changed = true
  local give = a.free == 1 and learn_dated or charge_dated
  give(c, c.dated, t, word(id, 0, a))
end

local FREE = { free = 1, cost = 0, limit = 0, left = -1, ends = 0, refill = 0, window = 0 }
local NOTHING = { free = 0, cost = 0, limit = 0, left = -1, ends = 0, refill = 0, window = 0 }

-- abandon ends a call whose holder is gone: it may have been made until its permit
-- ended.
local function abandon(c, t, ended, id, price)
  if c.dated then
    settle(c, t, ended, id, price, NOTHING)
    return
  end
  c.inflight, c.changed = max(c.inflight - price, 0), true
  spend(c, t, ended, price)
  if t.reads == 1 then
    add_lost(c, price)
  end
end

-- wait_of is after how long so much more has come back.
local function wait_of(c, t, missing)
  if t.shape == BUCKET then
    local owing = owed(c, t, now)
    return ceil(((missing - ceil(owing / t.period)) * t.period + owing) / t.refill)
  elseif c.finish > 0 then
    return c.finish - now
  elseif c.reported >= 0 and c.reported - c.inflight - lost(c) < granted(c, t) - used(c, t) then
    return max(c.told_at + t.period - now, 0)
  end
  for i = 1, #c.slots, 16 do
    local last, n = unpack_of('<dd', c.slots, i)
    missing = missing - n
    if missing <= 0 then
      return last + t.period - now
    end
  end
  return t.period
end

-- draws_of reads a permit that is out.
local function draws_of(text)
  local at, n = unpack_of('<dd', text)
  local draws, from = { at = at }, 17 + 8 * n
  for i = 1, n do
    local name
    name, from = unpack_of('<Hc0', text, from)
    draws[i] = { price = (unpack_of('<d', text, 9 + 8 * i)), name = name }
  end
  return draws
end

-- sweep ends permits whose holders are gone, and forgets what is as good as new.
local function sweep()
  group.sweep = now + life / 2
  local all = redis.call('HGETALL', key)
  local gone = {}
  for i = 1, #all, 2 do
    local field, value = all[i], all[i + 1]
    local kind = sub(field, 1, 2)
    if kind == 'p:' then
      local draws = draws_of(value)
      if now >= draws.at + life then
        gone[#gone + 1] = field
        local id = unpack_of('>I8', field, 3)
        for _, d in ipairs(draws) do
          local c, t = count(d.name)
          if c then
            advance(c, t, 0)
            abandon(c, t, draws.at + life, id, d.price)
            advance(c, t, 0)
          end
        end
      end
    elseif kind == 'g:' then
      local g = gate(sub(field, 3))
      if g.half == 0 and now >= g.till then
        gone[#gone + 1] = field
        gates[sub(field, 3)] = nil
      end
    end
  end
  for i = 1, #all, 2 do
    if sub(all[i], 1, 2) == 'c:' then
      local name = sub(all[i], 3)
      local c, t = count(name)
      if c.presumed == 0 and not c.dated then
        advance(c, t, 0)
      end
      local idle = not c.dated or untouched_dated(c.dated)
      if idle and used(c, t) == 0 and c.presumed == 0 and c.limit == 0 and c.refill == 0 and c.window == 0
        and c.reported < 0 and c.finish == 0 and now >= c.covers and now >= c.line then
        gone[#gone + 1], gone[#gone + 2] = all[i], 'h:' .. name
        counts[name] = nil
      end
    end
  end
  for i = 1, #gone do
    redis.call('HDEL', key, gone[i])
  end
end

-- entries are the counts that the caller speaks of.
local entries, gates_at = {}, 5
local storing = unpack_of('<d', ARGV[4]) == 1

local function read_entries()
  local size = TERMS_SIZE + 8
  for i = 1, #ARGV[5] / size do
    local at = (i - 1) * size
    local t = read_terms(ARGV[5], at + 1)
    t.text, t.mark = sub(ARGV[5], at + 1, at + TERMS_SIZE), unpack_of('<d', ARGV[4], 8 * i + 1)
    entries[i] = { name = sub(ARGV[5 + i], 3), terms = t, left = unpack_of('<d', ARGV[5], at + TERMS_SIZE + 1) }
  end
  gates_at = 5 + #entries
end

-- told_gate is the gate of this number.
local function told_gate(number)
  return gate(sub(ARGV[gates_at + number], 3))
end

-- entered returns a count with time passed.
local function entered(i)
  local e = entries[i]
  if not e.count then
    e.count = count(e.name, e.terms)
    advance(e.count, e.terms, e.left)
  end
  return e.count, e.terms
end

-- unsaved says whether more must be stored before a call of this price is granted; or less,
-- where what an answer told was taken for more than it turned out to be.
local function unsaved(c, t, taken, price)
  local spare = c.ceiling - taken - price
  return now >= c.covers or spare < 0 or c.dated and spare >= 4 * chunk(t, granted(c, t))
end

-- ahead adds what is to be stored of a count of which so much is needed: its number,
-- what to store as taken, until when that holds, how long from now that is, in how long
-- the window ends (0 if not known), the limit that was told, a number that orders what is
-- stored, what may be counted after the window ends, what was told to come back, and
-- what of it was not urgent.
local function ahead(answers, i, need)
  local c, t = entries[i].count, entries[i].terms
  -- What is stored of it is noted where it is.
  c.changed = true
  local limit = granted(c, t)
  local back = comes_back(t, limit)
  local ceiling = min(need + chunk(t, limit) - 1, max(limit, need))
  if c.dated then
    -- Nobody takes what is not stored any more.
    c.ceiling = min(c.ceiling, ceiling)
  else
    ceiling = max(ceiling, c.ceiling)
  end
  local cover, ends, told, late = max(t.patient == 1 and back or floor(back / 4), 2 * SECOND), 0, c.limit, ceiling - c.spent
  if c.dated then
    local d = c.dated
    told, late = d.limit, min(ceiling - dated_used(d) + d.inflight + d.late, ceiling)
    if d.reset > 0 or d.hold > 0 then
      ends = dated_end(d, t) - now
      cover = max(ends, 1)
    end
  elseif c.finish > 0 then
    ends = c.finish - now
    cover = max(ends, 1)
  end
  group.sequence = group.sequence + 1
  c.issued = group.sequence
  local n = #answers
  answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = i, ceiling, now + cover,
    cover + comes_back(t, max(ceiling, limit)) + STORED_LIFE
  answers[n + 5], answers[n + 6], answers[n + 7], answers[n + 8] = ends, told, group.sequence, late
  answers[n + 9], answers[n + 10] = c.refill, c.low
end
