#!lua flags=allow-oom
-- include: keys, parking
-- What waits for an account is due at once where this sender may send: its token is another one than that which was
-- refused, or the account's rest is over. ARGV: channel, account and mark of the sender's token, for each account
-- Returns how many conversations were woken.
local woken = 0
for i = 1, #ARGV, 3 do
  local channel, account, mark = unpack(ARGV, i, i + 2)
  if redis.call('EXISTS', ns.parked_conversations .. channel .. ' ' .. account) == 1 then
    local parked = redis.call('GET', parking_key(channel, account))
    if not rests_for(parked, mark) then woken = woken + wake_parked_conversations(channel .. ' ' .. account) end
  end
end
return woken
