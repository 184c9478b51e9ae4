-- include: keys, clock, numbers, conversation, schedule
-- constants: FOR_PEOPLE, MARGIN_MS, WARNING_MS, WINDOW_MS
-- A conversation that waits until a time, for a reason.

-- Waiting for people, or for an account to be mended, goes on while the window closes: the conversation is looked at
-- in time to tell the managers, once for each window, and again when nothing may be sent any more.
local function cut_to_window(cid, due, earliest)
  local c = redis.call('HMGET', at(cid), 'acted_at', 'window_told')
  if not c[1] then return due end
  -- A clock that may be ahead closes no window (store/server/clock_watch.py).
  local closes = number(c[1]) + WINDOW_MS - MARGIN_MS + number(redis.call('GET', ns.clock_ahead))
  local look = c[2] == c[1] and closes or closes - WARNING_MS
  return math.max(math.min(due, look), math.min(due, earliest))
end

-- A turn that gives its lease back has just looked: it names a later `earliest` than now, or what it decides and what is
-- written here would send it round and round where they differ.
local LOOK_PAUSE = 10000

local function hold(cid, due, reason, earliest)
  if FOR_PEOPLE[reason] or reason == 'parked' or reason == 'account_missing' then
    due = cut_to_window(cid, due, earliest or NOW)
  end
  redis.call('HSET', at(cid), 'state', 'held', 'hold_reason', reason)
  if FOR_PEOPLE[reason] then redis.call('HSET', at(cid), 'deferred_until', text(due)) end
  if reason == 'parked' then
    -- Found again when the account may send before its time (receive/policy.lua, accounts/wake_parked.lua).
    local parked = ns.parked_conversations .. account_of(cid)
    redis.call('SADD', parked, cid)
    redis.call('PEXPIRE', parked, 86400000)
  end
  redis.call('HDEL', at(cid), 'token', 'lease_until')
  redis.call('ZREM', ns.handed, cid)
  schedule(cid, due)
end
