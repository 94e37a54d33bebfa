-- In front of the scripts about shared counters, after clock.lua. See bot/store/counters.py for what is promised.
-- ARGV[2] is what all their keys start with: one slot.
local BASE, WINDOW, DAY = ARGV[2], 60, 86400
local argument = 2

local function following()
  argument = argument + 1
  return ARGV[argument]
end

local function key_of(kind, name)
  return BASE .. kind .. ':' .. name
end

-- A rate by seconds, without those that count no more.
local function booked_in(key, second)
  local flat, booked = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    local at = tonumber(flat[i])
    if at < second - WINDOW then
      redis.call('HDEL', key, flat[i])
    else
      booked[#booked + 1] = {at, tonumber(flat[i + 1])}
    end
  end
  table.sort(booked, function(a, b) return a[1] < b[1] end)
  return booked
end

local function free_at(booked, limit, amount, second)
  if #booked > 0 then
    second = math.max(second, booked[#booked][1])
  end
  local total, first = 0, second - WINDOW
  for _, one in ipairs(booked) do
    if one[1] >= first then
      total = total + one[2]
    end
  end
  for _, one in ipairs(booked) do
    if total <= 0 or total + amount <= limit then
      break
    end
    if one[1] >= first then
      total = total - one[2]
      second = math.max(second, one[1] + WINDOW + 1)
    end
  end
  return second
end

local function day_of(kind, time)
  return kind == 'day' and string.format('%d', math.floor(time / DAY)) or '0'
end

-- What is spent of a budget; that of another day counts no more. Only looks: what it wrote would have no end.
local function spent_of(kind, key, time)
  local state = redis.call('HMGET', key, 'day', 'spent')
  return state[1] == day_of(kind, time) and tonumber(state[2]) or 0
end

local function raised_of(kind, key, time)
  local state = redis.call('HMGET', key, 'day', 'raised')
  return state[1] == day_of(kind, time) and tonumber(state[2] or 0) or 0
end

local function add_spent(kind, key, time, amount, life)
  local spent, raised = math.max(0, spent_of(kind, key, time) + amount), raised_of(kind, key, time)
  redis.call('HSET', key, 'day', day_of(kind, time), 'spent', string.format('%.0f', spent),
    'raised', string.format('%.0f', raised))
  redis.call('PEXPIRE', key, life)
end

local function held_in(key, time)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', stamp(time))
  return redis.call('ZCARD', key)
end

local function set_right(kind, name, operation, second, more, time, life)
  local key = key_of(kind, name)
  if kind == 'rate' then
    local booked = redis.call('HGET', key, second)
    if booked then
      redis.call('HSET', key, second, string.format('%.0f', math.max(0, booked + more)))
    end
  elseif kind == 'slots' then
    redis.call('ZREM', key, operation)
  elseif kind == 'life' or math.floor(second / DAY) == math.floor(time / DAY) then
    add_spent(kind, key, time, more, life)
  end
end

-- Arguments: how many, then of each: operation, second, number of counters, (kind, name, more) ...
local function settle(time, forgotten, life)
  for _ = 1, following() do
    local operation, second, number = following(), following(), following()
    local new = redis.call('SET', BASE .. 'op:' .. operation .. ':settled', 1, 'NX', 'PX', forgotten)
    for _ = 1, number do
      local kind, name, more = following(), following(), following()
      if new then
        set_right(kind, name, operation, second, more, time, life)
      end
    end
  end
end
