#!lua
-- A sign of life. ARGV: process, instance, alive_ms
redis.call('ZADD', 'ns:alive', NOW, ARGV[1] .. ' ' .. ARGV[2])
redis.call('ZREMRANGEBYSCORE', 'ns:alive', '-inf', NOW - 10 * tonumber(ARGV[3]))
return NOW
