#!lua
-- include: keys, clock, numbers, retention
-- A sign of life, and what is done now and then: streams are cut by age as well as by count (include/ledger.lua).
-- ARGV: process, instance, alive_ms, then "channel id" of each account that the process has. Returns NOW.
-- Beats of a time before the clock went back: the dead would seem alive for as long as it has gone.
for _, member in ipairs(redis.call('ZRANGEBYSCORE', ns.alive, '(' .. text(NOW), '+inf')) do
  redis.call('ZADD', ns.alive, NOW, member)
end
redis.call('ZADD', ns.alive, NOW, ARGV[1] .. ' ' .. ARGV[2])
redis.call('ZREMRANGEBYSCORE', ns.alive, '-inf', NOW - 10 * tonumber(ARGV[3]))
for _, stream in ipairs({ns.ledger, ns.telemetry}) do
  redis.call('XTRIM', stream, 'MINID', '=', text(NOW - RETENTION))
end
for i = 4, #ARGV do redis.call('ZADD', ns.accounts, NOW, ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', ns.accounts, '-inf', NOW - 7 * 86400000)
return NOW
