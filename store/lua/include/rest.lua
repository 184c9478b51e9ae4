-- include: keys, seen, retention
-- A conversation without open messages is at rest.

local function rest(cid)
  redis.call('HSET', at(cid), 'state', 'rest')
  forget_seen(cid)
  retain(cid)
  -- What went wrong concerned messages that are closed now, however they were: the next one begins with a clean slate.
  redis.call('HDEL', at(cid), 'token', 'lease_until', 'hold_reason', 'first', 'deferred_until', 'failures', 'vanished',
    'account_missing_since', 'taken_back')
  redis.call('ZREM', ns.due, cid)
  redis.call('ZREM', ns.handed, cid)
end
