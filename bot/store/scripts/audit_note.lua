-- Add to the audit what is in no job's log. KEYS: stream, teams, the mark of this operation.
-- ARGV: offset, team, entries, ms kept, ms an operation is remembered. Answers 1, to repeats too.
if redis.call('SET', KEYS[3], 1, 'NX', 'PX', ARGV[5]) then
  audit(KEYS[1], KEYS[2], ARGV[2], ARGV[3], tonumber(ARGV[4]))
end
return 1
