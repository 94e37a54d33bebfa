-- Schedules whose time has come: member, payload and due in turn. KEYS: payloads, due, fired. ARGV: offset, limit.
local found = {}
local ready = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', stamp(now()), 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #ready, 2 do
  found[#found + 1] = ready[i]
  found[#found + 1] = redis.call('HGET', KEYS[1], ready[i]) or ''
  found[#found + 1] = ready[i + 1]
end
return found
