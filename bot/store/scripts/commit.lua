-- Append events, drop inbox entries, update the head. Fenced, in order, and once for each operation id.
-- ARGV: offset, operation, owner, epoch, expected, schema, ms to live or '', ms that its files live, operations kept,
--       bytes limit, progress, team, entries of the audit (see audit.lua), ms they are kept, number of taken, taken ...,
--       number of payloads, (digest or '', payload) ..., then pairs of fields.
-- Answers 'ok', 'dup', 'fenced', 'conflict' or 'full'.
local operation, expected = ARGV[2], tonumber(ARGV[5])
if redis.call('ZSCORE', OPS, operation) then
  return 'dup'
end
local state = redis.call('HMGET', HEAD, '_owner', '_epoch', '_seq')
if state[1] ~= ARGV[3] or state[2] ~= ARGV[4] then
  return 'fenced'
end
if tonumber(state[3]) ~= expected then
  return 'conflict'
end

local taken_from = 16
local payloads_from = taken_from + ARGV[15] + 1
local payloads = tonumber(ARGV[payloads_from - 1])
local fields_from = payloads_from + 2 * payloads
local bytes = 0
for i = payloads_from, fields_from - 1, 2 do
  if ARGV[i] ~= '' then
    bytes = bytes + #ARGV[i + 1]
  end
end
if not fits(bytes, ARGV[10]) then
  return 'full'
end

local time = stamp(now())
local seq = expected
for i = payloads_from, fields_from - 1, 2 do
  seq = seq + 1
  append(LOG, seq, ARGV[i], ARGV[i + 1])
end
for i = taken_from, payloads_from - 2 do
  redis.call('XDEL', INBOX, ARGV[i] .. '-0')
end
if payloads_from - 1 > taken_from and redis.call('XLEN', INBOX) == 0 then
  redis.call('DEL', INBOX) -- an empty stream still takes memory
end
redis.call('HSET', HEAD, '_seq', seq, '_schema', ARGV[6], '_updated', time, unpack(ARGV, fields_from))
if ARGV[11] == '1' then
  redis.call('HSET', HEAD, '_lost', 0)
end
audit(AUDIT, TEAMS, ARGV[12], ARGV[13], tonumber(ARGV[14]))
redis.call('ZADD', OPS, time, operation)
redis.call('ZREMRANGEBYRANK', OPS, 0, -1 - ARGV[9])
if ARGV[7] ~= '' and redis.call('XLEN', INBOX) == 0 then
  fade(ARGV[7], ARGV[8])
else
  fade_on()
end
return 'ok'
