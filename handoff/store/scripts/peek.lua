-- The earliest score of each sorted set in KEYS ('' where it is empty), after the time.
local found = { stamp(now()) }
for i = 1, #KEYS do
  local first = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
  found[i + 1] = first[2] or ''
end
return found
