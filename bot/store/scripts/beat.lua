-- Renew a lease. ARGV: offset, member, owner, epoch, lease (s). Answers 1, or 0 if the job is not ours.
if not owns(ARGV[3], ARGV[4]) then
  return 0
end
redis.call('ZREM', LEASE, ARGV[2]) -- this first, for a full server would refuse to renew what takes no memory
redis.call('ZADD', LEASE, stamp(now() + ARGV[5]), ARGV[2])
return 1
