#!lua flags=no-writes
-- include: keys, clock
-- One consistent look at the books. ARGV: how many of the oldest open messages to list, then days (since the epoch)
-- Returns {now, counts, open, oldest entries with scores, events, counts of each day asked for...}.
local answer = {NOW, redis.call('HGETALL', ns.count), redis.call('ZCARD', ns.open),
  redis.call('ZRANGE', ns.open, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES'), redis.call('HGETALL', ns.events)}
for i = 2, #ARGV do answer[#answer + 1] = redis.call('HGETALL', ns.count_of_day .. ARGV[i]) end
return answer
