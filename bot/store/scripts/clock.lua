-- In front of every script. The server's clock is the only one; ARGV[1] moves it (ms), which only tests do.
local function now()
  local time = redis.call('TIME')
  return time[1] + time[2] / 1000000 + ARGV[1] / 1000
end

-- Lua's own tostring would cut a time off after 14 digits.
local function stamp(time)
  return string.format('%.6f', time)
end
