-- In front of every script about one job, after clock.lua.
local HEAD, LOG, INBOX, OPS, BLOBS, OUT, DUE, LEASE, NEWER = unpack(KEYS, 1, 9)
local OWN_KEYS = 6 -- HEAD to OUT belong to the job alone, and expire together

local function owns(owner, epoch)
  local state = redis.call('HMGET', HEAD, '_owner', '_epoch')
  return state[1] == owner and state[2] == epoch
end

-- What a repeat of letting go answers: whether it was this operation that did it, and nobody took the job since.
local function let_go_by(operation)
  local state = redis.call('HMGET', HEAD, '_owner', '_let')
  return state[1] == '' and state[2] == operation and 1 or 0
end

-- Whoever let go of a job repeats none but its last operations, and not for long.
local function forget_operations(ms, left)
  redis.call('ZREMRANGEBYRANK', OPS, 0, -1 - left)
  redis.call('PEXPIRE', OPS, ms, 'LT')
end

-- A server holds 4 KB ready for what a stream's next entries will take, until there is one that does not fit in: a
-- job that rests gives them back. The entry's id lies between the log's own, and is refused only by a damaged log.
local function tighten()
  local id = (redis.call('HGET', HEAD, '_seq') or 0) .. '-*'
  id = redis.pcall('XADD', LOG, 'NOMKSTREAM', id, 'p', string.rep(' ', 4096))
  if type(id) == 'string' then
    redis.call('XDEL', LOG, id)
  end
end

-- Start, or start again, the job's time to live.
local function fade(ms)
  redis.call('HSET', HEAD, '_fades', ms)
  for i = 1, OWN_KEYS do
    redis.call('PEXPIRE', KEYS[i], ms)
  end
end

-- A script that may have made a new key of a fading job gives it the same time to live.
local function fade_on()
  local ms = redis.call('HGET', HEAD, '_fades')
  if ms and ms ~= '' then
    fade(ms)
  end
end

local function revive()
  local ms = redis.call('HGET', HEAD, '_fades')
  if ms and ms ~= '' then
    redis.call('HSET', HEAD, '_fades', '')
    for i = 1, OWN_KEYS do
      redis.call('PERSIST', KEYS[i])
    end
  end
end

local function wake(member, time)
  redis.call('ZADD', DUE, time, member)
  redis.call('HSET', HEAD, '_due', time)
end

-- Whether so many more bytes may be kept beside the job.
local function fits(bytes, limit)
  return bytes == 0 or tonumber(redis.call('HGET', BLOBS, 'size') or 0) + bytes <= tonumber(limit)
end

local function keep(digest, data)
  if redis.call('HSETNX', BLOBS, digest, data) == 1 then
    redis.call('HINCRBY', BLOBS, 'size', #data)
  end
end

-- Append a payload; where it has a digest it is kept beside the stream and only named in it.
local function append(stream, seq, digest, payload)
  local id = string.format('%d-0', seq)
  if digest == '' then
    redis.call('XADD', stream, id, 'p', payload)
  else
    keep(digest, payload)
    redis.call('XADD', stream, id, 'b', digest)
  end
end
