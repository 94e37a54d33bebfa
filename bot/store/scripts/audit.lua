-- In front of the scripts that add to the audit, after clock.lua. A team has one stream in each partition; `teams` is the
-- set of teams that have one there. Entries come as JSON (one each), joined by NUL, which no JSON holds.
-- What is older than `kept` (ms) goes; nothing else ever takes an entry out.
local function audit(stream, teams, member, entries, kept)
  if entries == '' then
    return
  end
  local ms = math.floor(now() * 1000)
  for entry in string.gmatch(entries, '[^%z]+') do
    local id = redis.pcall('XADD', stream, string.format('%.0f-*', ms), 'p', entry)
    if type(id) ~= 'string' then -- the clock went back: behind all that is there, then
      redis.call('XADD', stream, '*', 'p', entry)
    end
  end
  redis.call('XTRIM', stream, 'MINID', string.format('%.0f', ms - kept))
  redis.call('PEXPIRE', stream, kept)
  redis.call('SADD', teams, member)
  redis.call('PEXPIRE', teams, kept)
end
