-- One breaker, told of a failure or a success, or asked by a probe. See bot/store/counters.py for what is promised.
-- KEYS: the hash of all breakers, the operation's mark.
-- ARGV: offset, what (failed, succeeded, tried), name, probe, channel, most breakers, ms they are kept,
--       ms an operation is remembered, threshold, rest, longest, forget, rest asked for, hold.
-- Answers {1 or 0 (a probe gets through), the breaker as it is kept, '' if closed}.
local what, name, probe, channel = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local threshold, rest, longest, forget = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local asked, hold = tonumber(ARGV[13]), tonumber(ARGV[14])
local time = now()
local kept = redis.call('HGET', KEYS[1], name) or ''
local failures, openings, until_, at, probe_until, prober = 0, 0, 0, 0, 0, ''
if kept ~= '' then
  local parts = {string.match(kept, '^(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')}
  failures, openings, until_, at, probe_until = unpack(parts, 1, 5)
  failures, openings, until_ = tonumber(failures), tonumber(openings), tonumber(until_)
  at, probe_until, prober = tonumber(at), tonumber(probe_until), parts[6]
end
local open = until_ > 0
local through = 1

local function keep()
  local text = string.format('%d %d %.6f %.6f %.6f %s', failures, openings, until_, at, probe_until, prober)
  if text ~= kept and (kept ~= '' or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[6])) then
    kept = text
    redis.call('HSET', KEYS[1], name, kept)
    redis.call('PEXPIRE', KEYS[1], ARGV[7])
    redis.call('PUBLISH', channel, '!' .. name .. ' ' .. kept)
  end
end

if what == 'tried' then
  if open then
    if probe ~= prober and (time < until_ or (prober ~= '' and time < probe_until)) then
      through = 0
    else
      prober, probe_until = probe, time + hold
      keep()
    end
  end
elseif redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[8]) then
  local late = open and (probe == '' or probe ~= prober)
  if what == 'succeeded' then
    if not late and kept ~= '' then
      kept = ''
      redis.call('HDEL', KEYS[1], name)
      redis.call('PUBLISH', channel, '!' .. name .. ' ')
    end
  elseif late then
    if asked > 0 then
      until_ = math.max(until_, time + asked)
      keep()
    end
  else
    if time - at > forget then
      failures = 0
    end
    if time - at > forget + longest then
      openings = 0
    end
    failures, at, probe_until, prober = failures + 1, time, 0, ''
    if open or failures >= threshold then
      until_ = time + math.max(asked, math.min(longest, rest * 2 ^ openings))
      openings = math.min(openings + 1, 30)
    elseif asked > 0 then
      until_ = time + asked
    end
    keep()
  end
end
return {through, kept}
