-- Schedules whose time has come: member, payload and due in turn. KEYS: payloads, due, fired.
-- ARGV: offset, limit, start of the names or '', the team or ''. Others' schedules share the set, so it is read on until `limit` fit.
local found, from, most, upto = {}, 0, tonumber(ARGV[2]), stamp(now())
while #found < most * 3 do
  local ready = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', upto, 'WITHSCORES', 'LIMIT', from, 500)
  for i = 1, #ready, 2 do
    local slash = ready[i]:find('/', 1, true)
    local name, ours = ready[i]:sub(slash + 1), ARGV[4] == '' or ready[i]:sub(1, slash - 1) == ARGV[4]
    if #found < most * 3 and ours and name:sub(1, #ARGV[3]) == ARGV[3] then
      found[#found + 1] = ready[i]
      found[#found + 1] = redis.call('HGET', KEYS[1], ready[i]) or ''
      found[#found + 1] = ready[i + 1]
    end
  end
  if #ready < 1000 then
    break
  end
  from = from + 500
end
return found
