-- include: keys, clock, numbers, ledger, plan, hold
-- include: settings
-- constants: FOR_PEOPLE
-- People have the conversation, and the bot keeps out.

local function waits_for_people(cid)
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  return c[1] == 'held' and FOR_PEOPLE[c[2]]
end

-- People or another app have the conversation: the draft is dropped, what is open waits for them.
local function defer(cid, account, key)
  local takeover = NOW + people_of(account)
  -- The bot that comes back after people says again what it is.
  redis.call('HSET', at(cid), 'takeover_until', text(takeover), 'disclosed', '0')
  if redis.call('LLEN', at(cid, 'inbox')) == 0 then return end
  for i = 0, parts_of(cid) - 1 do
    local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
    if state == 'planned' or state == 'failed' then redis.call('HSET', at(cid, 'plan'), i .. ':state', 'dropped') end
  end
  if something_arrived(cid) then return end -- what is on its way is finished by its turn; the rest stays unsent
  forget_plan(cid)
  hold(cid, takeover, 'human')
  note(cid, key, 'held', 'human')
end
