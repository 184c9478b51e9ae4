-- include: keys, clock, ledger, alerts
-- Messages that we hear only because another app has the thread.

-- Another app that has a thread hears it directly and we only listen. So it is where people have taken the thread; where
-- customer after customer is heard like that and none directly, the other app is the one that gets new threads.
local STANDBY_CUSTOMERS, STANDBY_SPAN, EXPLAINED = 3, 3 * 86400000, 7 * 86400000

local heard = {} -- accounts to which a customer wrote directly, in this call

local function heard_directly(account)
  if heard[account] then return end
  heard[account] = true
  redis.call('DEL', ns.standby .. account)
end

local function heard_on_standby(event, takeover)
  local account = event.account
  local customers = ns.standby .. account
  heard[account] = nil
  if takeover > NOW - EXPLAINED or redis.call('SCARD', customers) >= STANDBY_CUSTOMERS then return end
  redis.call('SADD', customers, event.cid)
  redis.call('PEXPIRE', customers, STANDBY_SPAN)
  if redis.call('SCARD', customers) < STANDBY_CUSTOMERS then return end
  count_event('standby_alone')
  if not redis.call('SET', ns.telling .. 'standby:' .. account, '1', 'NX', 'PX', 86400000) then return end
  local body = {rule = 'account_standby', channel = event.channel, account = event.account_id, first_at = NOW, count = 1}
  raise_alert('', 'account:' .. event.channel .. ':' .. event.account_id .. ':standby', cjson.encode(body))
end
