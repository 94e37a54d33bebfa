-- Take one job of a partition: the preferred one, else an expired lease, else one that is due.
-- KEYS: lease, due, the key that remembers this operation.
-- ARGV: offset, prefix of the partition's job keys, token of the new owner, lease (s), schema, preferred member.
-- Answers {member, epoch, expires} or nothing. The job's own keys follow from the prefix and share the slot.
local LEASE, DUE, MEMORY = unpack(KEYS)
local prefix, owner, schema, preferred = ARGV[2], ARGV[3], tonumber(ARGV[5]), ARGV[6]
local PAGE, PAGES = 64, 4 -- a bound on how far jobs of a newer schema are skipped
local time = now()

local before = redis.call('GET', MEMORY)
if before then
  local state = redis.call('HMGET', prefix .. before .. ':head', '_owner', '_epoch')
  local expires = redis.call('ZSCORE', LEASE, before)
  if state[1] == owner and expires then
    return { before, state[2], expires }
  end
  return false
end

local function take(member)
  local head = prefix .. member .. ':head'
  local known = redis.call('HGET', head, '_schema')
  if not known then -- the job expired: nothing is left to work on
    redis.call('ZREM', LEASE, member)
    redis.call('ZREM', DUE, member)
    return false
  end
  if tonumber(known) > schema then
    return false
  end
  local expires = stamp(time + ARGV[4])
  local epoch = redis.call('HINCRBY', head, '_epoch', 1)
  redis.call('HSET', head, '_owner', owner, '_due', '')
  redis.call('ZREM', DUE, member)
  redis.call('ZADD', LEASE, expires, member)
  redis.call('PERSIST', prefix .. member .. ':ops')
  redis.call('SET', MEMORY, member, 'PX', 60000)
  return { member, tostring(epoch), expires }
end

local function ready(key, member)
  local score = redis.call('ZSCORE', key, member)
  return score and tonumber(score) <= time
end

if preferred ~= '' and (ready(LEASE, preferred) or ready(DUE, preferred)) then
  local claim = take(preferred)
  if claim then
    return claim
  end
end
for _, key in ipairs({ LEASE, DUE }) do
  for page = 0, PAGES - 1 do
    local members = redis.call('ZRANGEBYSCORE', key, '-inf', stamp(time), 'LIMIT', page * PAGE, PAGE)
    for _, member in ipairs(members) do
      local claim = take(member)
      if claim then
        return claim
      end
    end
    if #members < PAGE then
      break
    end
  end
end
return false
