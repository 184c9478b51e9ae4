#!lua
-- A comment that asks for a private reply is noted once, however often it comes.
-- ARGV: id, payload (JSON), horizon_ms. Returns 1 when it is new.
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
return 1
