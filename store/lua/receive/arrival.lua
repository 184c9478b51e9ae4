-- include: keys, clock, ledger, seen, retention
-- What each event of a conversation but a customer's message has in common: it counts once, and its conversation is known.

local function is_first_time(event)
  if redis.call('ZADD', at(event.cid, 'seen'), 'NX', NOW, event.key) == 1 then return true end
  count_event('duplicate')
  return false
end

local function introduce(event)
  local cid = event.cid
  keep_for_good(cid)
  redis.call('HSETNX', at(cid), 'customer', event.customer_id)
  if redis.call('HSETNX', at(cid), 'account', event.account_id) == 1 then
    redis.call('HSET', at(cid), 'channel', event.channel, 'state', 'rest')
  end
end

-- What came changed nothing for a conversation in which nothing is open: it goes on towards its end.
local function keep_no_longer(cid)
  if redis.call('HGET', at(cid), 'state') ~= 'rest' then return end
  forget_seen(cid)
  retain(cid)
end
