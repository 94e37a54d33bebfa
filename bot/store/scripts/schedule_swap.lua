-- Change a schedule if it still reads as its writer saw it. KEYS: payloads, due, fired.
-- ARGV: offset, member, payload as seen, payload, 'keep' or due or '' (switched off). An empty payload removes it.
-- Answers 1 (also to a repeat), else 0.
local member, seen, payload, due = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local known = redis.call('HGET', KEYS[1], member)
if payload == '' then
  if known and known ~= seen then
    return 0
  end
  redis.call('HDEL', KEYS[1], member)
  redis.call('HDEL', KEYS[3], member)
  redis.call('ZREM', KEYS[2], member)
  return 1
end
if known == payload and known ~= seen then
  return 1
end
if known ~= seen then
  return 0
end
redis.call('HSET', KEYS[1], member, payload)
if due == '' then
  redis.call('ZREM', KEYS[2], member)
elseif due ~= 'keep' then
  redis.call('ZADD', KEYS[2], due, member)
end
return 1
