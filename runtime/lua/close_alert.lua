#!lua flags=allow-oom
-- Forget an incident that has been delivered and is quiet. ARGV: id, count that was shown. Returns 1 when closed.
local known = redis.call('HGET', 'ns:alerts', ARGV[1])
if not known then redis.call('ZREM', 'ns:alerts:due', ARGV[1]) return 1 end
local body = cjson.decode(known)
if body['count'] ~= tonumber(ARGV[2]) or body['delivered'] ~= body['count'] then return 0 end
redis.call('HDEL', 'ns:alerts', ARGV[1])
redis.call('ZREM', 'ns:alerts:due', ARGV[1])
return 1
