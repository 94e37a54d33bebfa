-- Let go of a job. ARGV: offset, member, owner, epoch, operation, due or '', idle ms, operations ms, channel.
-- Answers 1, or 0 if the job is not ours. A repeat by the same operation answers 1 as long as nobody took the job.
local member, operation, due = ARGV[2], ARGV[5], ARGV[6]
if not owns(ARGV[3], ARGV[4]) then
  local state = redis.call('HMGET', HEAD, '_owner', '_let')
  return state[1] == '' and state[2] == operation and 1 or 0
end
redis.call('ZREM', LEASE, member)
redis.call('HSET', HEAD, '_owner', '', '_let', operation)
local time = stamp(now())
if redis.call('XLEN', INBOX) > 0 then
  due = time
end
if due ~= '' then
  revive() -- a job with something to do is not over
  wake(member, due)
  if tonumber(due) <= tonumber(time) then
    redis.call('PUBLISH', ARGV[9], member)
  end
elseif (redis.call('HGET', HEAD, '_fades') or '') == '' then
  fade(ARGV[7])
end
redis.call('PEXPIRE', OPS, ARGV[8])
return 1
