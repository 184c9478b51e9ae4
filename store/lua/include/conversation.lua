-- include: keys, numbers
-- The hash of a conversation: whose it is, its counters, who has its lease.

local function account_of(cid)
  local c = redis.call('HMGET', at(cid), 'channel', 'account')
  return (c[1] or '?') .. ' ' .. (c[2] or '?')
end

-- As HINCRBY, also where what stands there is no number.
local function increase(cid, field)
  redis.call('HSET', at(cid), field, text(number(redis.call('HGET', at(cid), field)) + 1))
end

local function holds(cid, token)
  local c = redis.call('HMGET', at(cid), 'state', 'token')
  return c[1] == 'leased' and c[2] == token
end
