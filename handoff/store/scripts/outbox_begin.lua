-- Record that a message is about to be sent. ARGV: offset, owner, epoch, message, operation, messages limit.
-- Answers {first, record}, 'full', or nothing if the job is not ours.
local message, operation = ARGV[4], ARGV[5]
if not owns(ARGV[2], ARGV[3]) then
  return false
end
local record = redis.call('HGET', OUT, message)
if record then
  return { cjson.decode(record).operation == operation and 1 or 0, record }
end
if redis.call('HLEN', OUT) >= tonumber(ARGV[6]) then
  return 'full'
end
record = cjson.encode({ began = stamp(now()), operation = operation, ts = '', draft = '' })
redis.call('HSET', OUT, message, record)
fade_on()
return { 1, record }
