-- The time, then for each sorted set in KEYS that is not empty its place there and its earliest score.
local found = { stamp(now()) }
for i = 1, #KEYS do
  local first = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
  if first[2] then
    found[#found + 1] = i
    found[#found + 1] = first[2]
  end
end
return found
