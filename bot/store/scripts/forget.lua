-- Erase a job, all of it at once: whoever owns it is fenced, and nothing that is late makes it again.
-- KEYS: the job's own, what it posted, then the indexes that name it.
-- ARGV: offset, member, ms until it may be unknown again, channel, team, entries of the audit (see audit.lua), ms they are
--       kept. Answers 1, or 0 if there is no such job (any more).
-- Ids of what it posted stay, for whoever takes that back in Slack.
local member, POSTED = ARGV[2], KEYS[14]
if redis.call('EXISTS', HEAD) == 0 then
  return 0
end
redis.call('SET', GONE, stamp(now()), 'PX', ARGV[3])
local posted = redis.call('HGETALL', OUT)
for i = 1, #posted, 2 do
  redis.call('HSET', POSTED, posted[i], posted[i + 1])
end
redis.call('PEXPIRE', POSTED, ARGV[3])
redis.call('UNLINK', HEAD, LOG, INBOX, OPS, BLOBS, OUT, FILES)
for _, key in ipairs({ DUE, LEASE, NEWER }) do
  redis.call('ZREM', key, member)
end
for i = 15, #KEYS do
  redis.call('ZREM', KEYS[i], member)
end
audit(AUDIT, TEAMS, ARGV[5], ARGV[6], tonumber(ARGV[7]))
redis.call('PUBLISH', ARGV[4], member)
return 1
