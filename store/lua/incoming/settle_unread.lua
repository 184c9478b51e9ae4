#!lua flags=allow-oom
-- include: keys, clock, ledger, alerts
-- What became of a message that had to be read.
-- ARGV: key, word, then for "again": wait_ms, record; for "unreadable": id of the alert, alert (JSON)
-- Returns 1, or 0 when its webhook has come meanwhile and there is nothing to settle.
local key, word = ARGV[1], ARGV[2]
if redis.call('HEXISTS', ns.unread, key) == 0 then return 0 end
if word == 'again' then
  redis.call('HSET', ns.unread, key, ARGV[4])
  redis.call('ZADD', ns.unread_due, NOW + tonumber(ARGV[3]), key)
  return 1
end
redis.call('HDEL', ns.unread, key)
redis.call('ZREM', ns.unread_due, key)
count_event('unread_' .. word)
if word == 'unreadable' then raise_alert('', ARGV[3], ARGV[4]) end
return 1
