#!lua flags=allow-oom
-- Forget an incident that has been delivered and is quiet, or that has been given up ('1').
-- ARGV: id, count that was shown, given up. Returns 1 when closed.
local known = redis.call('HGET', 'ns:alerts', ARGV[1])
if not known then redis.call('ZREM', 'ns:alerts:due', ARGV[1]) return 1 end
local body = cjson.decode(known)
local quiet = body['count'] == tonumber(ARGV[2]) and body['delivered'] == body['count']
if not quiet and ARGV[3] ~= '1' then return 0 end
redis.call('HDEL', 'ns:alerts', ARGV[1])
redis.call('ZREM', 'ns:alerts:due', ARGV[1])
return 1
