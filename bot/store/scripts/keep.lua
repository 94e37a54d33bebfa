-- Keep bytes beside a job. ARGV: offset, digest, data, bytes limit, ms to live where there is no job (yet).
-- Answers 1 or 'full'.
if redis.call('HEXISTS', BLOBS, ARGV[2]) == 1 then
  return 1
end
if not fits(#ARGV[3], ARGV[4]) then
  return 'full'
end
keep(ARGV[2], ARGV[3])
if redis.call('EXISTS', HEAD) == 1 then
  fade_on()
else
  redis.call('PEXPIRE', BLOBS, ARGV[5])
end
return 1
