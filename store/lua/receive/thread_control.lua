-- include: keys, clock, ledger, hold
-- include: takeover
-- Meta's routing gives the conversation to an app, ours or another one, which is as good as a human's.
-- event: cid, channel, account_id, customer_id, key, action ("pass" or "take"), is_ours ('1' when it is ours now)

local function thread_control(event)
  local cid, account, key = event.cid, event.account, event.key
  count_event(event.action .. '_thread_control')
  if event.is_ours ~= '1' then
    note(cid, key, 'thread_taken')
    redis.call('HDEL', at(cid), 'opened_at') -- whatever was said before: this is no greeting
    defer(cid, account, key)
    return
  end
  note(cid, key, 'thread_returned')
  redis.call('HDEL', at(cid), 'takeover_until')
  redis.call('HSET', at(cid), 'disclosed', '0')
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  if c[1] == 'held' and c[2] == 'human' then hold(cid, NOW, 'human') end
end
