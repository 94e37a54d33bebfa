-- Keep bytes beside a job. ARGV: offset, digest, data, bytes limit, ms to live where there is no job (yet).
-- Answers 1, 'full', or 'gone' for a job that was forgotten: whoever still works on it must leave nothing behind.
if redis.call('HEXISTS', FILES, ARGV[2]) == 1 or redis.call('HEXISTS', BLOBS, ARGV[2]) == 1 then
  return 1
end
local exists = redis.call('EXISTS', HEAD) == 1
if not exists and redis.call('EXISTS', GONE) == 1 then
  return 'gone'
end
if not fits(#ARGV[3], ARGV[4]) then
  return 'full'
end
keep(FILES, ARGV[2], ARGV[3])
if exists then
  fade_on()
else
  redis.call('PEXPIRE', FILES, ARGV[5])
end
return 1
