#!lua
-- include: keys
-- What the provider itself noted of one attempt of a failed turn. ARGV: cid, record id, generation id, JSON, ms it is
-- kept. Returns 1.
local key = at(ARGV[1], 'generations:' .. ARGV[2])
redis.call('HSET', key, ARGV[3], ARGV[4])
redis.call('PEXPIRE', key, ARGV[5])
return 1
