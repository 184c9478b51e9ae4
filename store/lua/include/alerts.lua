-- include: keys, clock, ledger, schedule
-- The durable alert outbox: what the managers are told, until Telegram has taken it.

local MOST_ALERTS = 2000 -- that wait for Telegram: a hundred minutes of what a group of managers takes

local LESS_URGENT, MORE_URGENT = -10 * 86400000, 10 * 86400000

local function forget_alert(id)
  redis.call('HDEL', ns.alerts, id)
  redis.call('ZREM', ns.alerts_due, id)
  redis.call('ZREM', ns.alerts_order, id)
end

-- An alert that no manager will read any more: the ledger and the metrics say so.
local function lose_alert(id, event)
  local known = redis.call('HGET', ns.alerts, id)
  forget_alert(id)
  count_event(event)
  note(known and cjson.decode(known)['conversation'] or '', '', event, id)
end

-- Where there is no room, the least urgent goes first: tasks, then customers, then what concerns the whole house; the
-- older before the newer.
local function make_room(cid, id)
  local urgency = cid == '' and MORE_URGENT or string.find(id, ':task_', 1, true) and LESS_URGENT or 0
  redis.call('ZADD', ns.alerts_order, NOW + urgency, id)
  if redis.call('ZCARD', ns.alerts_order) > MOST_ALERTS then
    lose_alert(redis.call('ZRANGE', ns.alerts_order, 0, 0)[1], 'alert_dropped')
  end
end

-- The durable alert outbox: an incident that is still open is counted up and updated, not raised again.
local function raise_alert(cid, id, body)
  local known = redis.call('HGET', ns.alerts, id)
  local due = NOW
  if known then
    -- One that Telegram has turned away keeps its wait, and a delivered one is not edited with every repetition.
    local score = tonumber(redis.call('ZSCORE', ns.alerts_due, id) or '0')
    local old, new = cjson.decode(known), cjson.decode(body)
    for _, field in ipairs({'message_id', 'first_at', 'delivered', 'tries'}) do new[field] = old[field] end
    new['count'] = (old['count'] or 1) + 1
    due = (old['tries'] or 0) > 0 and math.max(score, NOW) or (old['delivered'] and math.min(score, NOW + 5000) or NOW)
    body = cjson.encode(new)
  end
  redis.call('HSET', ns.alerts, id, body)
  count_event('alert')
  note(cid, '', 'alert', id)
  add_deadline(ns.alerts_due, id, due)
  make_room(cid, id)
end
