-- Take one job of a partition: the preferred one, else an expired lease, else one that older instances put by, else
-- one that is due. KEYS: lease, due, newer, the key that remembers this operation.
-- ARGV: offset, prefix of the partition's job keys, token of the new owner, lease (s), schema, preferred member, channel,
-- then who is left to wait with what is due: `TEAM/USER`, or `TEAM/` for all of a team.
-- Answers {member, epoch, expires, lost, user}, 'more' (nothing yet: ask again) or nothing.
-- The job's own keys follow from the prefix and share the slot.
local LEASE, DUE, NEWER, MEMORY = unpack(KEYS)
local prefix, owner, schema, preferred, channel = ARGV[2], ARGV[3], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local ENOUGH = 256 -- jobs moved out of the way, or passed over, by one call, which holds up everybody
local PASSED = 4096 -- jobs passed over by the team in their name alone, which costs little
local time = now()
local looked = 0 -- at jobs that were passed over
local waiting = {}
for i = 8, #ARGV do
  waiting[ARGV[i]] = true
end

local before = redis.call('GET', MEMORY)
if before then
  local state = redis.call('HMGET', prefix .. before .. ':head', '_owner', '_epoch', '_lost', 'user')
  local expires = redis.call('ZSCORE', LEASE, before)
  if state[1] == owner and expires then
    return { before, state[2], expires, state[3] or '0', state[4] or '' }
  end
  return false
end

-- The name before the part that is random. Who takes up again what it held itself is alive: nobody was lost.
local function instance(token)
  return string.match(token, '^(.*)%.') or token
end

-- Jobs of a newer schema are put by, in the order of their schemas, where only those look who know it: they hide no
-- other job, and nobody is woken for what he cannot do.
local function put_by(head, member, known)
  redis.call('ZADD', NEWER, known, member)
  if redis.call('ZREM', LEASE, member) == 1 then
    redis.call('HSET', head, '_owner', '', '_due', stamp(time))
  end
  redis.call('ZREM', DUE, member)
  redis.call('PUBLISH', channel, member)
end

-- What could use up memory is written first: a full server refuses it while nothing has changed yet.
-- Answers false for a job that left its place, nil for one that is left there to wait.
local function take(member, place)
  local team = string.match(member, '^[^/]*/')
  if place == DUE and waiting[team] then
    return nil
  end
  local head = prefix .. member .. ':head'
  local state = redis.call('HMGET', head, '_schema', '_aside', '_owner', 'user')
  local gone, quarantined = not state[1], state[2] == '1'
  if gone or quarantined then -- it expired; or an older instance, which knows nothing of quarantine, made it due
    for _, key in ipairs({ LEASE, DUE, NEWER }) do
      redis.call('ZREM', key, member)
    end
    if quarantined then
      redis.call('HSET', head, '_due', '')
    end
    return false
  end
  if place == DUE and waiting[team .. (state[4] or '')] then
    looked = looked + 1
    return nil
  end
  if place == LEASE and instance(state[3] or '') ~= instance(owner) then
    redis.call('HINCRBY', head, '_lost', 1)
  end
  if tonumber(state[1]) > schema then
    put_by(head, member, state[1])
    return false
  end
  local expires = stamp(time + ARGV[4])
  local epoch = redis.call('HINCRBY', head, '_epoch', 1)
  redis.call('HSET', head, '_owner', owner, '_due', '')
  redis.call('ZREM', DUE, member)
  redis.call('ZREM', NEWER, member)
  redis.call('ZADD', LEASE, expires, member)
  redis.call('PERSIST', prefix .. member .. ':ops')
  redis.call('SET', MEMORY, member, 'PX', 60000)
  return { member, tostring(epoch), expires, redis.call('HGET', head, '_lost') or '0', state[4] or '' }
end

local PLACES = { { LEASE, stamp(time) }, { NEWER, tostring(schema) }, { DUE, stamp(time) } }

if preferred ~= '' then
  for _, place in ipairs(PLACES) do
    local score = redis.call('ZSCORE', place[1], preferred)
    if score and tonumber(score) <= tonumber(place[2]) then
      local claim = take(preferred, place[1])
      if claim then
        return claim
      end
    end
  end
end
local moved = 0
for _, place in ipairs(PLACES) do
  local members
  local passed = 0
  repeat -- every member looked at leaves its place, or is passed over
    members = redis.call('ZRANGEBYSCORE', place[1], '-inf', place[2], 'LIMIT', passed, passed == 0 and 16 or ENOUGH)
    for _, member in ipairs(members) do
      local claim = take(member, place[1])
      if claim then
        return claim
      elseif claim == nil then
        passed = passed + 1
      else
        moved = moved + 1
      end
    end
    if moved >= ENOUGH then
      return 'more'
    elseif looked >= ENOUGH or passed >= PASSED then
      break
    end
  until #members == 0
end
return false
