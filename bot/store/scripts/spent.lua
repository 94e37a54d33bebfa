-- What is used of counters. ARGV: offset, base, number of counters, (kind, name) ... Answers as many numbers.
local time, used = now(), {}
for place = 1, following() do
  local kind, name = following(), following()
  local key = key_of(kind, name)
  local sum = 0
  if kind == 'rate' then
    for _, one in ipairs(booked_in(key, math.floor(time))) do
      sum = sum + one[2]
    end
  elseif kind == 'slots' then
    sum = held_in(key, time)
  else
    sum = spent_of(kind, key, time)
  end
  used[place] = string.format('%.0f', sum)
end
return used
