-- In front of every script about one job, after clock.lua.
local HEAD, LOG, INBOX, OPS, BLOBS, OUT, DUE, LEASE, NEWER, FILES, GONE, AUDIT, TEAMS = unpack(KEYS, 1, 13)
local OWN_KEYS = 6 -- HEAD to OUT belong to the job alone, and expire together; FILES may go before them

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

-- Start, or start again, the job's time to live, and that of its files where it is another one.
local function fade(ms, files)
  redis.call('HSET', HEAD, '_fades', ms, '_files', files or ms)
  for i = 1, OWN_KEYS do
    redis.call('PEXPIRE', KEYS[i], ms)
  end
  redis.call('PEXPIRE', FILES, files or ms)
end

-- A script that may have made a new key of a fading job gives it the same time to live.
local function fade_on()
  local state = redis.call('HMGET', HEAD, '_fades', '_files')
  if state[1] and state[1] ~= '' then
    fade(state[1], state[2])
  end
end

local function revive()
  local ms = redis.call('HGET', HEAD, '_fades')
  if ms and ms ~= '' then
    redis.call('HSET', HEAD, '_fades', '')
    for i = 1, OWN_KEYS do
      redis.call('PERSIST', KEYS[i])
    end
    redis.call('PERSIST', FILES)
  end
end

local function wake(member, time)
  redis.call('ZADD', DUE, time, member)
  redis.call('HSET', HEAD, '_due', time)
end

-- Whether so many more bytes may be kept beside the job.
local function fits(bytes, limit)
  if bytes == 0 then
    return true
  end
  local kept = (redis.call('HGET', BLOBS, 'size') or 0) + (redis.call('HGET', FILES, 'size') or 0)
  return kept + bytes <= tonumber(limit)
end

-- BLOBS holds events that are too large for the log, FILES what jobs work on (and what they made). An earlier release
-- kept both in BLOBS.
local function keep(hash, digest, data)
  if redis.call('HSETNX', hash, digest, data) == 1 then
    redis.call('HINCRBY', hash, 'size', #data)
  end
end

-- Append a payload; where it has a digest it is kept beside the stream and only named in it.
local function append(stream, seq, digest, payload)
  local id = string.format('%d-0', seq)
  if digest == '' then
    redis.call('XADD', stream, id, 'p', payload)
  else
    keep(BLOBS, digest, payload)
    redis.call('XADD', stream, id, 'b', digest)
  end
end
