#!lua flags=allow-oom
-- include: clock, numbers
-- The clock has gone back: no deadline of a set lies further ahead than any may.
-- ARGV: key, how far ahead it may lie (ms), how many to change at once. Returns how many were changed.
local key, latest = ARGV[1], NOW + tonumber(ARGV[2])
local members = redis.call('ZRANGEBYSCORE', key, '(' .. text(latest), '+inf', 'LIMIT', 0, tonumber(ARGV[3]))
for _, member in ipairs(members) do redis.call('ZADD', key, latest, member) end
return #members
