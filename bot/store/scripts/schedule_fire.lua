-- Move a schedule on, if it is still due at that time. KEYS: payloads, due, fired.
-- ARGV: offset, member, due, following or '', operation. Answers 1 to one caller (and to its repeats), else 0.
local member = ARGV[2]
if redis.call('HGET', KEYS[3], member) == ARGV[5] then
  return 1
end
local due = redis.call('ZSCORE', KEYS[2], member)
if not due or tonumber(due) ~= tonumber(ARGV[3]) then
  return 0
end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], member)
else
  redis.call('ZADD', KEYS[2], ARGV[4], member)
end
redis.call('HSET', KEYS[3], member, ARGV[5])
return 1
