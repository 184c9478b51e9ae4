#!lua flags=allow-oom
-- include: keys, numbers, alerts
-- The state of one rule about the house itself, told once when it breaks and once when it is well again, however many
-- processes watch it: it is well again when none of them has seen it broken for some time.
-- ARGV: rule, '1' when it is broken, body of the alert to raise (JSON), the watcher's time, steady_ms
-- Returns 1 when this call changed the state.
local rule, broken, body, SEEN, STEADY = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local id = 'system:' .. rule

-- A delivered alert lingers to be updated in place, and an update makes no sound: what is new gets a message of its own.
local function forget_delivered(alert)
  local known = redis.call('HGET', ns.alerts, alert)
  if not known then return end
  local old = cjson.decode(known)
  if old['delivered'] == old['count'] then forget_alert(alert) end
end

local since, last = string.match(redis.call('HGET', ns.incidents, rule) or '', '^(%d+) (%d+)$')
if broken == '1' then
  redis.call('HSET', ns.incidents, rule, (since or text(SEEN)) .. ' ' .. text(SEEN))
  if since then return 0 end
  forget_delivered(id)
  raise_alert('', id, body)
  return 1
end
if not since then return 0 end
if tonumber(last) > SEEN then -- the clock has gone back: the time to be steady in begins anew
  redis.call('HSET', ns.incidents, rule, text(math.min(tonumber(since), SEEN)) .. ' ' .. text(SEEN))
  return 0
end
if SEEN - tonumber(last) < STEADY then return 0 end
redis.call('HDEL', ns.incidents, rule)
forget_delivered(id)
forget_delivered(id .. ':recovered')
local alert = cjson.decode(body)
alert['first_at'] = tonumber(since)
raise_alert('', id .. ':recovered', cjson.encode(alert))
return 1
