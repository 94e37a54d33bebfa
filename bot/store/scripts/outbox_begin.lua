-- Record that a message is about to be sent. ARGV: offset, owner, epoch, message, operation, messages limit, seconds
-- in which it settles, progress. If that is 1, a message that is new, or not settled yet, is progress: no owner counts
-- as lost any more.
-- Answers {first, record}, 'full', or nothing if the job is not ours.
local message, operation = ARGV[4], ARGV[5]
if not owns(ARGV[2], ARGV[3]) then
  return false
end
local record = redis.call('HGET', OUT, message)
if record then
  local known = cjson.decode(record)
  if ARGV[8] == '1' and known.ts == '' and now() - known.began < tonumber(ARGV[7]) then
    redis.call('HSET', HEAD, '_lost', 0)
  end
  return { known.operation == operation and 1 or 0, record }
end
if redis.call('HLEN', OUT) >= tonumber(ARGV[6]) then
  return 'full'
end
record = cjson.encode({ began = stamp(now()), operation = operation, ts = '', draft = '' })
redis.call('HSET', OUT, message, record)
if ARGV[8] == '1' then
  redis.call('HSET', HEAD, '_lost', 0)
end
fade_on()
return { 1, record }
