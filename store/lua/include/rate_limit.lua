-- include: clock, numbers, parking
-- Meta's limits are per account: a call takes a slot of its account, all workers together.

local MOST_AHEAD = 30000000 -- microseconds; who waits for a slot waits for less

-- A slot, as pace.lua explains: never more than `most` in any `span`.
local function take_slot(key, most, span, longest, parking, mark)
  local reason = rests_for(redis.call('GET', parking), mark)
  if reason then return 0, 0, reason, math.max(redis.call('PTTL', parking), 0) end
  local now = clock[1] * 1000000 + clock[2]
  local before = tonumber(redis.call('LINDEX', key, -most) or '0')
  if before > now + MOST_AHEAD then -- no call waits for so long: the clock has gone back since
    redis.call('DEL', key)
    before = 0
  end
  local turn = math.max(before + span, now)
  local wait = turn - now
  if wait > longest * 1000 then return wait, 0, '', 0 end
  if redis.call('RPUSH', key, text(turn)) > most then redis.call('LPOP', key) end
  redis.call('PEXPIRE', key, math.ceil((wait + span) / 1000) + 1)
  return wait, 1, '', 0
end
