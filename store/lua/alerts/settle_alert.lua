#!lua flags=allow-oom
-- include: keys, clock, schedule, alerts
-- After a try to deliver an alert. ARGV: id, count that was shown, message id ('' when it failed), delay_ms, tries, and
-- for a failure: after how long a time of failures it is given up (ms; 0: never, since Telegram is not configured)
-- Delivered: it lingers for delay_ms, so that the same incident updates it; unchanged by then, it is closed.
-- Returns 'delivered', 'changed' (newer words wait), 'retry', 'given_up' or 'gone'.
local id, shown, message_id, DELAY, tries = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local GIVE_UP = tonumber(ARGV[6] or '0')
local known = redis.call('HGET', ns.alerts, id)
if not known then return 'gone' end
local body = cjson.decode(known)
body['tries'] = tries
local verdict = 'retry'
if message_id ~= '' then
  body['message_id'], body['delivered'], body['tries'], body['failing_since'] = message_id, shown, 0, nil
  verdict = body['count'] == shown and 'delivered' or 'changed'
else
  -- Words that are newer than the try that failed have their own day.
  if body['failing_at'] ~= shown then body['failing_at'], body['failing_since'] = shown, nil end
  if GIVE_UP > 0 then
    body['failing_since'] = body['failing_since'] or NOW
    if NOW - body['failing_since'] >= GIVE_UP then
      lose_alert(id, 'alert_given_up')
      return 'given_up'
    end
  end
end
redis.call('HSET', ns.alerts, id, cjson.encode(body))
redis.call('ZADD', ns.alerts_order, 'NX', NOW, id) -- one of an older version
add_deadline(ns.alerts_due, id, verdict == 'changed' and NOW or NOW + DELAY)
return verdict
