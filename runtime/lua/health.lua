#!lua flags=no-writes
-- What the heartbeats and the oldest open messages say. ARGV: alive_ms, overdue_ms, how many open messages to look at
-- Returns {now, alive members, open, oldest received at, overdue messages, due now, handed out, alerts waiting}.
local alive = redis.call('ZRANGEBYSCORE', 'ns:alive', NOW - tonumber(ARGV[1]), '+inf')
local oldest = redis.call('ZRANGE', 'ns:open', 0, tonumber(ARGV[3]) - 1, 'WITHSCORES')
local overdue = 0
for i = 1, #oldest, 2 do
  if tonumber(oldest[i + 1]) > NOW - tonumber(ARGV[2]) then break end
  local cid = string.match(oldest[i], '^(%S+)')
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  local deferred = c[1] == 'held' and (c[2] == 'human' or c[2] == 'humans_first' or c[2] == 'off_duty')
  if not deferred then overdue = overdue + 1 end
end
return {NOW, alive, redis.call('ZCARD', 'ns:open'), oldest[2] or '0', overdue,
  redis.call('ZCOUNT', 'ns:due', '-inf', NOW), redis.call('ZCARD', 'ns:handed'), redis.call('HLEN', 'ns:alerts')}
