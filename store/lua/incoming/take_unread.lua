#!lua flags=allow-oom
-- include: keys, clock
-- Messages that have to be read from Meta, each for one worker at a time.
-- ARGV: lease_ms, how many at most. Returns key and record of each; one whose worker dies is due again after the lease.
local LEASE, MOST = tonumber(ARGV[1]), tonumber(ARGV[2])
local taken = {}
for _, key in ipairs(redis.call('ZRANGEBYSCORE', ns.unread_due, '-inf', NOW, 'LIMIT', 0, MOST)) do
  local record = redis.call('HGET', ns.unread, key)
  if record then
    redis.call('ZADD', ns.unread_due, NOW + LEASE, key)
    taken[#taken + 1] = key
    taken[#taken + 1] = record
  else
    redis.call('ZREM', ns.unread_due, key)
  end
end
return taken
