-- Let a call through all its counters or none; first note what became of earlier ones.
-- ARGV: offset, base, operation, patience (s), hold (s), last, ms an operation is remembered, ms a budget is kept,
--       what was settled (see counters.lua), number of counters, (kind, name, limit, amount) ...
-- Answers {ruling, wait (s), second, place of the counter in the way}.
local operation, patience, hold, last = following(), tonumber(following()), tonumber(following()), following()
local forgotten, life = following(), following()
local time = now()
settle(time, forgotten, life)

local counters = {}
for place = 1, following() do
  local kind, name = following(), following()
  counters[place] = {kind, key_of(kind, name), tonumber(following()), tonumber(following())}
end

local function lives(key)
  redis.call('PEXPIRE', key, math.ceil(hold * 1000 + 1000), 'NX')
  redis.call('PEXPIRE', key, math.ceil(hold * 1000 + 1000), 'GT')
end

local mark = BASE .. 'op:' .. operation
local known = redis.call('GET', mark)
if known then -- who asks again is alive: its slots, where it still has them, are held on
  for _, one in ipairs(counters) do
    if one[1] == 'slots' then
      redis.call('ZADD', one[2], 'XX', 'GT', stamp(time + hold), operation)
      lives(one[2])
    end
  end
  return {'ok', stamp(math.max(0, known - time)), string.format('%d', math.floor(known)), 0}
end

for place, one in ipairs(counters) do
  local kind, key = one[1], one[2]
  if (kind == 'day' or kind == 'life') and last ~= '1' and spent_of(kind, key, time) >= one[3] + raised_of(kind, key, time) then
    return {'spent', '0', '0', place - 1}
  end
  if kind == 'slots' and held_in(key, time) >= one[3] then
    return {'busy', '0', '0', place - 1}
  end
end

local today = math.floor(time)
local second, slowest, moved = today, 0, true
while moved do
  moved = false
  for place, one in ipairs(counters) do
    if one[1] == 'rate' then
      local at = free_at(booked_in(one[2], today), one[3], one[4], second)
      if at > second then
        second, slowest, moved = at, place - 1, true
      end
    end
  end
end
local at = math.max(time, second)
if at - time > patience then
  return {'late', stamp(at - time), '0', slowest}
end

for _, one in ipairs(counters) do
  local kind, key, amount = one[1], one[2], one[4]
  if kind == 'rate' then
    redis.call('HINCRBY', key, string.format('%d', second), string.format('%d', amount))
    redis.call('PEXPIRE', key, math.ceil((second - today + WINDOW + 2) * 1000))
  elseif kind == 'slots' then
    redis.call('ZADD', key, stamp(time + hold), operation)
    lives(key)
  else
    add_spent(kind, key, time, amount, life)
  end
end
redis.call('SET', mark, stamp(at), 'PX', forgotten)
return {'ok', stamp(at - time), string.format('%d', second), 0}
