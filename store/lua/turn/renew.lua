#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation
-- The turn goes on: its lease runs out later.
-- ARGV: cid, token, lease_ms. Returns 1 while the lease is still the caller's, else 0.
if not holds(ARGV[1], ARGV[2]) then return 0 end
local lease_until = NOW + tonumber(ARGV[3])
redis.call('HSET', at(ARGV[1]), 'lease_until', text(lease_until))
redis.call('ZADD', ns.due, lease_until, ARGV[1])
return 1
