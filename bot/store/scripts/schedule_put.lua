-- Create or change a schedule. KEYS: payloads, due, fired. ARGV: offset, member, payload, due or '', limit.
-- An empty payload that is never due removes it. Answers 1 or 'full'.
if ARGV[3] == '' and ARGV[4] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[2])
else
  if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return 'full'
  end
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[2])
else
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[2])
end
return 1
