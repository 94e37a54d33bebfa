-- Let go of a job for good: it is given to nobody until it is released.
-- ARGV: offset, member, owner, epoch, operation, schema, digest, payload, bytes limit, idle ms, operations ms, operations
--       left, then pairs of fields.
-- Answers 1, 0 if the job is not ours, or 'full'. A repeat by the same operation answers 1 as long as nobody took the job.
local member, operation, digest, payload = ARGV[2], ARGV[5], ARGV[7], ARGV[8]
if not owns(ARGV[3], ARGV[4]) then
  return let_go_by(operation)
end
if not fits(digest == '' and 0 or #payload, ARGV[9]) then
  return 'full'
end

-- The log may have lost its end, its middle or all of it: what comes now goes behind all that ever was in it.
local state = redis.call('HMGET', HEAD, '_seq', '_schema')
local seq = tonumber(state[1])
if redis.call('EXISTS', LOG) == 1 then
  local about = redis.call('XINFO', 'STREAM', LOG)
  for i = 1, #about, 2 do
    if about[i] == 'last-generated-id' then
      seq = math.max(seq, tonumber(string.match(about[i + 1], '^%d+')))
    end
  end
end
redis.call('ZREM', LEASE, member)
append(LOG, seq + 1, digest, payload)
redis.call('HSET', HEAD, '_owner', '', '_let', operation, '_due', '', '_aside', '1', '_seq', seq + 1, '_schema',
  math.max(tonumber(state[2]), tonumber(ARGV[6])), '_updated', stamp(now()), unpack(ARGV, 13))
redis.call('ZREM', DUE, member)
fade(ARGV[10])
forget_operations(ARGV[11], ARGV[12])
tighten()
return 1
