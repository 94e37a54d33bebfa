-- Set, change or drop an installation. KEYS: rows. ARGV: offset, name, what it was ('': nothing), what it is to be
-- ('': nothing), the most rows. Answers 1, 0 if it is neither what it was nor what it is to be, or 'full'.
local there = redis.call('HGET', KEYS[1], ARGV[2]) or ''
if there == ARGV[4] then -- by this call's first try for example
  return 1
end
if there ~= ARGV[3] then
  return 0
end
if ARGV[4] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
elseif there == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) then
  return 'full'
else
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[4])
end
return 1
