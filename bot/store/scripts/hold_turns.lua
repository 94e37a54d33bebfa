-- Nobody gets a turn of a lane for so long; then one, and the others in time, as if turns had been taken evenly.
-- ARGV: offset, base, lane, limit, window (s), seconds.
local lane, limit, window, seconds = following(), tonumber(following()), tonumber(following()), tonumber(following())
local turns, held = key_of('turns', lane), key_of('held', lane)
local ms = math.ceil(seconds * 1000)
if redis.call('PTTL', held) >= ms then
  return 0
end
redis.call('SET', held, 1, 'PX', ms)
redis.call('DEL', turns)
for i = 1, limit do
  redis.call('RPUSH', turns, stamp(now() + seconds - i * window / limit))
end
redis.call('PEXPIRE', turns, math.ceil((seconds + window) * 1000))
return 1
