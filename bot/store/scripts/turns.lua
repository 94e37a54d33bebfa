-- Give out turns of a lane: calls of one kind, of which so many may begin within so many seconds.
-- ARGV: offset, base, lane, who asks, limit, window (s), turns wanted, spare ones, rank, 1 if it yields, its pace, the
--       pace's window (s), calls that are sure to come of who asks, of how many one is left to people (and to progress),
--       seconds within which who waits asks again, by how much it may be late, seconds an asker is remembered.
-- Answers {turns given, seconds until the next, askers}.
-- A lane is the list of its last turns, the newest first; beside it stands who asks, and until when nobody may go.
local lane, who = following(), following()
local limit, window = tonumber(following()), tonumber(following())
local wanted, more, rank = tonumber(following()), tonumber(following()), tonumber(following())
local yields, pace, per = following() == '1', tonumber(following()), tonumber(following())
local sure, few_of = tonumber(following()), tonumber(following())
local again, late, remembered = tonumber(following()), tonumber(following()), tonumber(following())
local turns, askers, held = key_of('turns', lane), key_of('askers', lane), key_of('held', lane)
local time = now()

local kept, count, behind = sure, 1, false
local known = redis.call('HGETALL', askers)
for i = 1, #known, 2 do
  if known[i] ~= who then
    local theirs, heard, first, till = string.match(known[i + 1], '^(%d+) ([%d.]+) (%d+) ([%d.]+)$')
    if time - heard > remembered then
      redis.call('HDEL', askers, known[i])
    else
      kept, count = kept + theirs, count + 1
      if tonumber(till) > time then -- it waits
        more, behind = 0, behind or tonumber(first) < rank
      end
    end
  end
end

-- Seconds until one more may go if at most `most` may within `seconds`.
local function left(most, seconds)
  local at = redis.call('LINDEX', turns, most - 1)
  return at and math.max(0, at + seconds - time) or 0
end

local few = math.floor(limit / few_of)
local most = rank > 1 and limit - few or limit
if yields then
  most = math.max(1, few, most - kept)
end
local given, wait = 0, math.max(0, redis.call('PTTL', held)) / 1000
if wait == 0 and behind then
  wait = math.max(left(limit, window), 0.3)
end
if wait == 0 then
  while given < wanted + more and (given < wanted or left(math.ceil(limit / 2), window) == 0) do
    wait = math.max(left(most, window), yields and left(pace, per) or 0)
    if wait > 0 then
      break
    end
    redis.call('LPUSH', turns, stamp(time))
    given = given + 1
  end
  redis.call('LTRIM', turns, 0, limit - 1)
end
local till = given < wanted and time + math.min(wait, again) + late or 0 -- who waits asks again by then
redis.call('HSET', askers, who, string.format('%d %s %d %s', sure, stamp(time), rank, stamp(till)))
redis.call('PEXPIRE', turns, math.ceil(window * 1000))
redis.call('PEXPIRE', askers, math.ceil(remembered * 1000))
return {given, stamp(wait), count}
