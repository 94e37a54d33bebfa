-- When the earliest schedule is due whose name starts so; '' if none is. KEYS: payloads, due, fired. ARGV: offset, start,
-- the team or ''.
local from = 0
while true do
  local some = redis.call('ZRANGE', KEYS[2], from, from + 99, 'WITHSCORES')
  for i = 1, #some, 2 do
    local slash = some[i]:find('/', 1, true)
    local name, ours = some[i]:sub(slash + 1), ARGV[3] == '' or some[i]:sub(1, slash - 1) == ARGV[3]
    if ours and name:sub(1, #ARGV[2]) == ARGV[2] then
      return some[i + 1]
    end
  end
  if #some < 200 then
    return ''
  end
  from = from + 100
end
