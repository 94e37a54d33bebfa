-- A page of a log, many entries to a string: a client takes as long to read 30 short strings as one long one.
-- KEYS: log, head. ARGV: offset, seq of the first, number of entries, entries to a string.
-- Answers {seq of the head, number of entries, payloads joined by NUL (which no JSON holds) ...}, without payloads
-- where they cannot be told so: one is kept beside the log, or an entry is missing.
-- The head is read with the page, so that a log that ends early shows.
local first = tonumber(ARGV[2])
local rows = redis.call('XRANGE', KEYS[1], ARGV[2] .. '-0', '+', 'COUNT', ARGV[3])
local found = { tonumber(redis.call('HGET', KEYS[2], '_seq') or 0), #rows }
if #rows == 0 or rows[#rows][1] ~= string.format('%d-0', first + #rows - 1) then
  return found
end
local some, strings = {}, {}
for i = 1, #rows do
  local field = rows[i][2]
  if field[1] ~= 'p' then
    return found
  end
  some[#some + 1] = field[2]
  if #some == tonumber(ARGV[4]) or i == #rows then
    strings[#strings + 1] = table.concat(some, '\0')
    some = {}
  end
end
for i = 1, #strings do
  found[i + 2] = strings[i]
end
return found
