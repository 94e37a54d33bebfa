-- Let go of a job. ARGV: offset, member, owner, epoch, operation, due or '', idle ms, operations ms, channel,
--       operations left, lost owners ('+': one more than there were; '': as many).
-- Answers 1, or 0 if the job is not ours. A repeat by the same operation answers 1 as long as nobody took the job.
local member, operation, due = ARGV[2], ARGV[5], ARGV[6]
if not owns(ARGV[3], ARGV[4]) then
  return let_go_by(operation)
end
redis.call('ZREM', LEASE, member)
local lost = ARGV[11]
if lost == '+' then
  lost = (redis.call('HGET', HEAD, '_lost') or 0) + 1
elseif lost == '' then
  lost = redis.call('HGET', HEAD, '_lost') or 0
end
redis.call('HSET', HEAD, '_owner', '', '_let', operation, '_lost', lost)
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
forget_operations(ARGV[8], ARGV[10])
if due == '' or tonumber(due) > tonumber(time) + 60 then
  tighten()
end
return 1
