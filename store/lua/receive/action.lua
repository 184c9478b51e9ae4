-- include: keys, numbers, ledger
-- The customer does something that wants no reply, and opens the messaging window.
-- event: cid, at, counted_as. Of a conversation that is not known nothing is stored.

local function action(event)
  count_event(event.counted_as)
  local c = redis.call('HMGET', at(event.cid), 'account', 'acted_at')
  if c[1] and tonumber(event.at) > number(c[2]) then redis.call('HSET', at(event.cid), 'acted_at', event.at) end
end
