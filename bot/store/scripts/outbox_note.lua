-- Record the id of a message: 'draft' when it was begun, 'ts' when it is finished; or 'sent', that it is sent just now.
-- ARGV: offset, owner, epoch, message, 'draft', 'ts' or 'sent', id. Answers 1, or 0 if the job is not ours.
if not owns(ARGV[2], ARGV[3]) then
  return 0
end
local old = redis.call('HGET', OUT, ARGV[4])
local record = old and cjson.decode(old) or { began = stamp(now()), operation = '', ts = '', draft = '' }
record[ARGV[5]] = ARGV[5] == 'sent' and stamp(now()) or ARGV[6]
redis.call('HSET', OUT, ARGV[4], cjson.encode(record))
fade_on()
return 1
