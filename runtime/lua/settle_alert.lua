#!lua flags=allow-oom
-- After a try to deliver an alert. ARGV: id, count that was shown, message id ('' when it failed), delay_ms, tries
-- Delivered: it lingers for delay_ms, so that the same incident updates it; unchanged by then, it is closed.
-- Returns 'delivered', 'changed' (newer words wait), 'retry' or 'gone'.
local id, shown, message_id, DELAY, tries = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local known = redis.call('HGET', 'ns:alerts', id)
if not known then return 'gone' end
local body = cjson.decode(known)
body['tries'] = tries
local verdict = 'retry'
if message_id ~= '' then
  body['message_id'], body['delivered'], body['tries'] = message_id, shown, 0
  verdict = body['count'] == shown and 'delivered' or 'changed'
end
redis.call('HSET', 'ns:alerts', id, cjson.encode(body))
add_deadline('ns:alerts:due', id, verdict == 'changed' and NOW or NOW + DELAY)
return verdict
