-- Raise budgets, once for an operation; an empty operation only looks. One of a day is raised for that day.
-- ARGV: offset, base, operation, ms an operation is remembered, ms a budget is kept, number of counters,
--       (kind, name, amount) ... Answers by how much each is raised now.
local operation, forgotten, life = following(), following(), following()
local time, raised = now(), {}
local new = operation ~= '' and redis.call('SET', BASE .. 'op:' .. operation, 1, 'NX', 'PX', forgotten)
for place = 1, following() do
  local kind, name, amount = following(), following(), tonumber(following())
  local key = key_of(kind, name)
  local sum = raised_of(kind, key, time)
  if new then
    sum = sum + amount
    redis.call('HSET', key, 'day', day_of(kind, time), 'spent', string.format('%.0f', spent_of(kind, key, time)),
      'raised', string.format('%.0f', sum))
    redis.call('PEXPIRE', key, life)
  end
  raised[place] = string.format('%.0f', sum)
end
return raised
