#!lua flags=allow-oom
-- include: keys, clock, numbers
-- Hand out what is due. A conversation is only moved a few seconds on, never taken out: a lost poke costs that time.
-- ARGV: limit, redo_ms, quota, alert_redo_ms, alert_limit
-- Returns {now, next deadline (0: none), conversation ids, alert ids}.

local LIMIT, REDO, QUOTA = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ALERT_REDO, ALERT_LIMIT = tonumber(ARGV[4]), tonumber(ARGV[5])
redis.call('ZREMRANGEBYSCORE', ns.handed, '-inf', NOW - REDO)
local room = math.min(LIMIT, QUOTA - redis.call('ZCARD', ns.handed))
local ids = {}
if room > 0 then
  ids = redis.call('ZRANGEBYSCORE', ns.due, '-inf', NOW, 'LIMIT', 0, room)
  for _, cid in ipairs(ids) do
    redis.call('ZADD', ns.due, NOW + REDO, cid)
    redis.call('ZADD', ns.handed, NOW, cid)
  end
end
local alerts = redis.call('ZRANGEBYSCORE', ns.alerts_due, '-inf', NOW, 'LIMIT', 0, ALERT_LIMIT)
for _, id in ipairs(alerts) do redis.call('ZADD', ns.alerts_due, NOW + ALERT_REDO, id) end

local function earliest(set) return tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2] or '0') end
local due, alert_due = earliest(ns.due), earliest(ns.alerts_due)
if due == 0 or (alert_due > 0 and alert_due < due) then due = alert_due end
redis.call('SET', ns.sleep, text(due == 0 and NOW + 86400000 or due))
redis.call('DEL', ns.wake)
return {NOW, due, ids, alerts}
