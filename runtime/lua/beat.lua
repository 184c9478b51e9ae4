#!lua
-- A sign of life. ARGV: process, instance, alive_ms, then "channel id" of each account that the process knows
redis.call('ZADD', 'ns:alive', NOW, ARGV[1] .. ' ' .. ARGV[2])
redis.call('ZREMRANGEBYSCORE', 'ns:alive', '-inf', NOW - 10 * tonumber(ARGV[3]))
for i = 4, #ARGV do redis.call('ZADD', 'ns:accounts', NOW, ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', 'ns:accounts', '-inf', NOW - 7 * 86400000)
return NOW
