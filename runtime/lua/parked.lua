#!lua flags=no-writes
-- ARGV: key. Returns {reason ('' when not parked), milliseconds left}
return {redis.call('GET', ARGV[1]) or '', math.max(redis.call('PTTL', ARGV[1]), 0)}
