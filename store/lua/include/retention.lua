-- include: keys
-- How long a conversation is kept once nothing is open in it.

local RETENTION = 180 * 86400000 -- after the last message has its outcome

local KEPT = {'history', 'seen', 'sent', 'maybe', 'told'}

-- Retention starts when nothing is open, and ends with the next word.
local function retain(cid)
  redis.call('PEXPIRE', at(cid), RETENTION)
  for _, part in ipairs(KEPT) do redis.call('PEXPIRE', at(cid, part), RETENTION) end
end

local function keep_for_good(cid)
  if redis.call('PERSIST', at(cid)) == 1 then
    for _, part in ipairs(KEPT) do redis.call('PERSIST', at(cid, part)) end
  end
end
