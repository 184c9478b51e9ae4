#!lua flags=allow-oom
-- include: keys, alerts
-- Forget an incident that has been delivered and is quiet. ARGV: id, count that was shown. Returns 1 when closed.
local known = redis.call('HGET', ns.alerts, ARGV[1])
if not known then forget_alert(ARGV[1]) return 1 end
local body = cjson.decode(known)
local quiet = body['count'] == tonumber(ARGV[2]) and body['delivered'] == body['count']
if not quiet then return 0 end
forget_alert(ARGV[1])
return 1
