#!lua
-- include: keys, clock, ledger
-- A comment that asks for a private reply is noted once, however often it comes. Where no worker answers them (no worker,
-- the words taken out of the configuration) they are bounded, and go once none of them could be answered any more.
-- ARGV: id, payload (JSON), horizon_ms. Returns 1 when it is new.
local MOST = 10000
local id, payload, HORIZON = ARGV[1], ARGV[2], tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', ns.comments_seen, '-inf', NOW - HORIZON)
if redis.call('ZADD', ns.comments_seen, 'NX', NOW, id) == 0 then
  count_event('duplicate')
  return 0
end
redis.call('ZREMRANGEBYRANK', ns.comments_seen, 0, -50001)
redis.call('HSET', ns.comments, id, payload)
redis.call('ZADD', ns.comments_due, NOW, id)
count_event('comment_to_answer')
if redis.call('HLEN', ns.comments) > MOST then
  redis.call('HDEL', ns.comments, redis.call('ZPOPMIN', ns.comments_due)[1])
  count_event('private_reply_dropped')
end
for _, key in ipairs({ns.comments, ns.comments_due, ns.comments_seen}) do redis.call('PEXPIRE', key, HORIZON) end
return 1
