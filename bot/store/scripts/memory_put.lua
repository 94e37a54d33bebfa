-- Set, change or drop what is remembered under a name. KEYS: of the place, the team's places.
-- ARGV: offset, place, name, what it was ('': nothing), what it is to be ('': nothing), the most of a place.
-- Answers 1, 0 if it is neither what it was nor what it is to be, or 'full'.
local now = redis.call('HGET', KEYS[1], ARGV[3]) or ''
if now == ARGV[5] then
  return 1
end
if now ~= ARGV[4] then
  return 0
end
if ARGV[5] == '' then
  redis.call('HDEL', KEYS[1], ARGV[3])
  if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('SREM', KEYS[2], ARGV[2])
  end
  return 1
end
if now == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[6]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[3], ARGV[5])
redis.call('SADD', KEYS[2], ARGV[2])
return 1
