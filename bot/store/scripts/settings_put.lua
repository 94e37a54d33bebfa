-- Set a row, if it still is what the caller read. KEYS: rows. ARGV: offset, name, row, limit, '1' to compare, row that was read.
-- An empty row that was read means that there was none. Answers 1, 0 if it is another by now, or 'full'.
local there = redis.call('HGET', KEYS[1], ARGV[2]) or ''
if there == ARGV[3] then -- set already, by this call's first try for example
  return 1
end
if ARGV[5] == '1' and there ~= ARGV[6] then
  return 0
end
if there == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1
