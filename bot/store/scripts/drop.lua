-- Take bytes out that are kept beside a job, or put others under their name.
-- ARGV: offset, then pairs: digest, what is there from now on ('': nothing). Answers 1, to repeats too.
for i = 2, #ARGV, 2 do
  for _, hash in ipairs({ FILES, BLOBS }) do
    local size = redis.call('HSTRLEN', hash, ARGV[i])
    if size > 0 then
      if ARGV[i + 1] == '' then
        redis.call('HDEL', hash, ARGV[i])
      else
        redis.call('HSET', hash, ARGV[i], ARGV[i + 1])
      end
      redis.call('HINCRBY', hash, 'size', #ARGV[i + 1] - size)
    end
  end
end
return 1
