-- include: keys, clock
-- constants: SEEN_MS
-- The keys of events that have come, so that each counts once.

local MOST_SEEN = 20000 -- of one conversation: only a flood reaches it

local OPEN_ROOM = 1000 -- more messages of one conversation are never open

-- A key that is open is never forgotten, however old it is and however many came after it: its message would be taken
-- for a new one, and answered twice. When the newest was received that had to go before its time is kept: see
-- may_be_forgotten in receive/message.lua.
local function forget_seen(cid)
  local seen = at(cid, 'seen')
  local function forget(keys, most)
    local gone, newest = 0, nil
    for _, key in ipairs(keys) do
      if gone < most and not redis.call('ZSCORE', ns.open, cid .. ' ' .. key) then
        newest = redis.call('ZSCORE', seen, key)
        redis.call('ZREM', seen, key)
        gone = gone + 1
      end
    end
    return newest
  end
  forget(redis.call('ZRANGEBYSCORE', seen, '-inf', NOW - SEEN_MS, 'LIMIT', 0, 2 * OPEN_ROOM), 2 * OPEN_ROOM)
  local surplus = redis.call('ZCARD', seen) - MOST_SEEN
  if surplus <= 0 then return end
  local newest = forget(redis.call('ZRANGE', seen, 0, surplus + OPEN_ROOM - 1), surplus)
  if newest then redis.call('HSET', at(cid), 'forgotten_at', newest) end
end
