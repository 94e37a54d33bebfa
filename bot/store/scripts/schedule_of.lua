-- Schedules whose member starts so, due or not: member, payload and due ('' if never) in turn.
-- KEYS: payloads, due, fired. ARGV: offset, start.
local found = {}
for _, member in ipairs(redis.call('HKEYS', KEYS[1])) do
  if member:sub(1, #ARGV[2]) == ARGV[2] then
    found[#found + 1] = member
    found[#found + 1] = redis.call('HGET', KEYS[1], member)
    found[#found + 1] = redis.call('ZSCORE', KEYS[2], member) or ''
  end
end
return found
