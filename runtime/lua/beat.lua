#!lua
-- A sign of life. ARGV: process, instance, alive_ms
-- Beats of a time before the clock went back: the dead would seem alive for as long as it has gone.
for _, member in ipairs(redis.call('ZRANGEBYSCORE', 'ns:alive', '(' .. text(NOW), '+inf')) do
  redis.call('ZADD', 'ns:alive', NOW, member)
end
redis.call('ZADD', 'ns:alive', NOW, ARGV[1] .. ' ' .. ARGV[2])
redis.call('ZREMRANGEBYSCORE', 'ns:alive', '-inf', NOW - 10 * tonumber(ARGV[3]))
return NOW
