-- Put an event in a job's inbox, make the job due, tell everybody.
-- KEYS: the job's eight, the requester's index, then a key per dedupe id.
-- ARGV: offset, member, operation, must exist, digest, payload, inbox limit, bytes limit, seen ms, user,
--       index length, index ms, channel, then pairs of fields.
-- Answers 1, 0 (seen before, or no such job) or 'full'.
local member, operation, digest, payload = ARGV[2], ARGV[3], ARGV[5], ARGV[6]
local INDEX, FIRST_SEEN = KEYS[9], 10

for i = FIRST_SEEN, #KEYS do
  local by = redis.call('GET', KEYS[i])
  if by then
    return by == operation and 1 or 0
  end
end
local exists = redis.call('EXISTS', HEAD) == 1
if ARGV[4] == '1' and not exists then
  return 0
end
local bytes = digest == '' and 0 or #payload
if redis.call('XLEN', INBOX) >= tonumber(ARGV[7]) or not fits(bytes, ARGV[8]) then
  return 'full'
end

local time = stamp(now())
if exists then
  revive()
else
  redis.call('HSET', HEAD, '_seq', 0, '_schema', 0, '_epoch', 0, '_owner', '', '_due', '', '_in', 0,
    '_fades', '', '_updated', time)
  redis.call('PERSIST', BLOBS) -- bytes may have been kept before the job was there
end
for i = FIRST_SEEN, #KEYS do
  redis.call('SET', KEYS[i], operation, 'PX', ARGV[9])
end
append(INBOX, redis.call('HINCRBY', HEAD, '_in', 1), digest, payload)
for i = 14, #ARGV, 2 do
  redis.call('HSETNX', HEAD, ARGV[i], ARGV[i + 1])
end
if ARGV[10] ~= '' then
  redis.call('ZADD', INDEX, time, member)
  redis.call('ZREMRANGEBYRANK', INDEX, 0, -1 - ARGV[11])
  redis.call('PEXPIRE', INDEX, ARGV[12])
end

-- An owned job stays owned: its owner hears of it, and whoever lets go of it sees that the inbox is not empty.
if not redis.call('ZSCORE', LEASE, member) then
  local due = redis.call('ZSCORE', DUE, member)
  if not due or tonumber(due) > tonumber(time) then
    wake(member, time)
  end
end
redis.call('PUBLISH', ARGV[13], member)
return 1
