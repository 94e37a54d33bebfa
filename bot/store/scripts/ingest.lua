-- Put an event in a job's inbox, make the job due, tell everybody. For a job in quarantine it only waits there.
-- KEYS: the job's own, the requester's index, then a key per dedupe id.
-- ARGV: offset, member, operation, where (see below), digest, payload, inbox limit, bytes limit, seen ms, user,
--       index length, index ms, channel, 1 where numbers must differ by chance, when it was said (s) or '', then pairs
--       of fields.
-- Where: 'any' job, one that 'exists', or one that is 'quarantined', which is given out again.
-- Answers 1, 0 (seen before, no such job, or said before its job was forgotten) or 'full'.
local member, operation, digest, payload = ARGV[2], ARGV[3], ARGV[5], ARGV[6]
local INDEX, FIRST_SEEN = KEYS[14], 15

for i = FIRST_SEEN, #KEYS do
  local by = redis.call('GET', KEYS[i])
  if by then
    return by == operation and 1 or 0
  end
end
local exists = redis.call('EXISTS', HEAD) == 1
local quarantined = redis.call('HGET', HEAD, '_aside') == '1'
if (ARGV[4] == 'exists' and not exists) or (ARGV[4] == 'quarantined' and not quarantined) then
  return 0
end
local gone = ARGV[15] ~= '' and redis.call('GET', GONE)
if gone and tonumber(ARGV[15]) <= tonumber(gone) then
  return 0
end
local bytes = digest == '' and 0 or #payload
local crowded = redis.call('XLEN', INBOX) >= tonumber(ARGV[7]) and ARGV[4] ~= 'quarantined'
if crowded or not fits(bytes, ARGV[8]) then
  return 'full'
end

local time = stamp(now())
if ARGV[4] == 'quarantined' then
  redis.call('HSET', HEAD, '_aside', '', '_lost', 0)
  quarantined = false
end
if exists and not quarantined then
  revive()
elseif not exists then
  redis.call('HSET', HEAD, '_seq', 0, '_schema', 0, '_epoch', 0, '_owner', '', '_due', '', '_in', 0,
    '_fades', '', '_updated', time)
  redis.call('PERSIST', FILES) -- bytes may have been kept before the job was there
end
for i = FIRST_SEEN, #KEYS do
  redis.call('SET', KEYS[i], operation, 'PX', ARGV[9])
end
-- A primary that was cut off from its replicas may have numbered something that is gone. Who saw that must not take
-- another entry for it: so the lower 20 bits are chance where there are replicas.
local number = tonumber(redis.call('HGET', HEAD, '_in')) + 1
if ARGV[14] == '1' then
  number = math.ceil(number / 2 ^ 20) * 2 ^ 20 + tonumber(string.sub(operation, 1, 5), 16)
end
redis.call('HSET', HEAD, '_in', string.format('%d', number))
append(INBOX, number, digest, payload)
for i = 16, #ARGV, 2 do
  redis.call('HSETNX', HEAD, ARGV[i], ARGV[i + 1])
end
if ARGV[10] ~= '' then
  redis.call('ZADD', INDEX, time, member)
  redis.call('ZREMRANGEBYRANK', INDEX, 0, -1 - ARGV[11])
  redis.call('PEXPIRE', INDEX, ARGV[12])
end

if quarantined then
  fade_on()
  return 1
end
-- An owned job stays owned: its owner hears of it, and whoever lets go of it sees that the inbox is not empty.
if not redis.call('ZSCORE', LEASE, member) and not redis.call('ZSCORE', NEWER, member) then
  local due = redis.call('ZSCORE', DUE, member)
  if not due or tonumber(due) > tonumber(time) then
    wake(member, time)
  end
end
redis.call('PUBLISH', ARGV[13], member)
return 1
