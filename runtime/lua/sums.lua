#!lua flags=no-writes
-- One consistent look at the books. ARGV: how many of the oldest open messages to list
-- Returns {now, counts, open, oldest entries with scores, events}.
return {NOW, redis.call('HGETALL', 'ns:count'), redis.call('ZCARD', 'ns:open'),
  redis.call('ZRANGE', 'ns:open', 0, tonumber(ARGV[1]) - 1, 'WITHSCORES'), redis.call('HGETALL', 'ns:events')}
