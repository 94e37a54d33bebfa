-- Whether this is the first who asks. KEYS: the mark. ARGV: offset, who, ms. Answers 1 to it and to its repeats.
redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3])
return redis.call('GET', KEYS[1]) == ARGV[2] and 1 or 0
