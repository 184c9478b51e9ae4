-- include: keys, clock, schedule
-- Accounts that rest, and the conversations that are parked until theirs may send.

local function parking_key(channel, account_id) return ns.parked .. channel .. ':' .. account_id end

local function parking_of(cid)
  local c = redis.call('HMGET', at(cid), 'channel', 'account')
  return parking_key(c[1] or '', c[2] or '')
end

-- Why an account rests is "reason", for all its senders, or "reason mark mark...", for those whose token has one of
-- these marks (store/accounts/parking.py): who has another token does not know yet whether it works.
local function rests_for(value, mark)
  local reason, marks = string.match(value or '', '^(%S+) ?(.*)$')
  if not reason or (marks ~= '' and not string.find(' ' .. marks .. ' ', ' ' .. mark .. ' ', 1, true)) then return nil end
  return reason
end

-- Conversations that are parked with their account are due now: whatever they waited for is over, or may be.
local function wake_parked_conversations(account)
  local parked, woken = ns.parked_conversations .. account, 0
  for _, cid in ipairs(redis.call('SMEMBERS', parked)) do
    local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
    if c[1] == 'held' and c[2] == 'parked' then
      schedule(cid, NOW)
      woken = woken + 1
    end
  end
  redis.call('DEL', parked)
  return woken
end
