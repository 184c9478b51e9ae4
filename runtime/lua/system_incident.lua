#!lua flags=allow-oom
-- The state of one rule about the house itself, told once when it breaks and once when it is well again, however many
-- processes watch it. ARGV: rule, '1' when it is broken, body of the alert to raise (JSON)
-- Returns 1 when this call changed the state.
local rule, broken, body = ARGV[1], ARGV[2], ARGV[3]
local id = 'system:' .. rule

-- A delivered alert lingers to be updated in place, and an update makes no sound: what is new gets a message of its own.
local function forget_delivered(alert)
  local known = redis.call('HGET', 'ns:alerts', alert)
  if not known then return end
  local old = cjson.decode(known)
  if old['delivered'] == old['count'] then
    redis.call('HDEL', 'ns:alerts', alert)
    redis.call('ZREM', 'ns:alerts:due', alert)
  end
end

if broken == '1' then
  if redis.call('HSETNX', 'ns:incidents', rule, text(NOW)) == 0 then return 0 end
  forget_delivered(id)
  raise_alert('', id, body)
  return 1
end
local since = redis.call('HGET', 'ns:incidents', rule)
if not since then return 0 end
redis.call('HDEL', 'ns:incidents', rule)
forget_delivered(id)
forget_delivered(id .. ':recovered')
local alert = cjson.decode(body)
alert['first_at'] = tonumber(since)
raise_alert('', id .. ':recovered', cjson.encode(alert))
return 1
