-- include: ledger, parking, alerts, told_once
-- Meta warns, blocks or unblocks an account.
-- event: channel, account_id, key, action, longest_ms (how long a block lasts at most), alert (JSON, '' for none)

-- A refused send may have told of the block before, or instead of, its webhook.
local function lifted_by_unblock(reason) return reason == 'policy_block' or reason == 'restricted' end

local function policy(event)
  local action = event.action
  count_event('policy_enforcement')
  if not told_first_time(event.key) then return end
  local parked = parking_key(event.channel, event.account_id)
  if action == 'block' then redis.call('SET', parked, 'policy_block', 'PX', event.longest_ms)
  elseif action == 'unblock' and lifted_by_unblock(redis.call('GET', parked)) then
    redis.call('DEL', parked)
    wake_parked_conversations(event.account)
  end
  if event.alert ~= '' then
    raise_alert('', 'account:' .. event.channel .. ':' .. event.account_id .. ':policy_' .. action, event.alert)
  end
end
