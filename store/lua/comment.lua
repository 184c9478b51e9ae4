#!lua
-- A comment that asks for a private reply is noted once, however often it comes. Where nobody answers them (no worker,
-- the words taken out of the configuration) they are bounded, and go once none of them could be answered any more.
-- ARGV: id, payload (JSON), horizon_ms. Returns 1 when it is new.
local MOST = 10000
local id, payload, HORIZON = ARGV[1], ARGV[2], tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', 'ns:comments:seen', '-inf', NOW - HORIZON)
if redis.call('ZADD', 'ns:comments:seen', 'NX', NOW, id) == 0 then
  redis.call('HINCRBY', 'ns:events', 'duplicate', 1)
  return 0
end
redis.call('ZREMRANGEBYRANK', 'ns:comments:seen', 0, -50001)
redis.call('HSET', 'ns:comments', id, payload)
redis.call('ZADD', 'ns:comments:due', NOW, id)
redis.call('HINCRBY', 'ns:events', 'comment_to_answer', 1)
if redis.call('HLEN', 'ns:comments') > MOST then
  redis.call('HDEL', 'ns:comments', redis.call('ZPOPMIN', 'ns:comments:due')[1])
  redis.call('HINCRBY', 'ns:events', 'private_reply_dropped', 1)
end
for _, key in ipairs({'ns:comments', 'ns:comments:due', 'ns:comments:seen'}) do redis.call('PEXPIRE', key, HORIZON) end
return 1
