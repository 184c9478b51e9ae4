#!lua flags=no-writes
-- include: keys, clock
-- Conversations that were handed out lately and that no worker has claimed yet. ARGV: lately_ms.
-- Returns conversation ids.
return redis.call('ZRANGEBYSCORE', ns.handed, NOW - tonumber(ARGV[1]), '+inf')
