-- include: keys, clock, numbers, ledger, history, plan
-- include: settings
-- What is told apart of an echo that is not ours.

-- Meta's instant reply and away message come as echoes like a human's words, but right after the customer's.
local function is_automatic(cid, account, when)
  local _, within = people_of(account)
  local after = tonumber(when) - number(redis.call('HGET', at(cid), 'said_at'))
  return after >= 0 and after < within
end

-- Meta may change our words on their way, and their echo may overtake the answer that tells their id: record_part.lua
-- takes such a takeover back.
local function remember_doubt(cid, key, line)
  if number(redis.call('HGET', at(cid), 'takeover_until')) > NOW then
    redis.call('HDEL', at(cid), 'doubted', 'doubted_line') -- two foreign echoes: one at least is a human's
    return
  end
  for i = 0, parts_of(cid) - 1 do
    if redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sending' then
      redis.call('HSET', at(cid), 'doubted', key, 'doubted_line', line)
    end
  end
end

-- Nothing is in it that a customer could have read: it proves no human, and no line is kept. Should its words be told of
-- later, or be read back, they count.
local function is_empty(cid, key, line)
  if line ~= '' then return false end
  count_event('empty_echo')
  note(cid, key, 'empty_echo')
  redis.call('ZREM', at(cid, 'seen'), key)
  return true
end

local function automatic(cid, key, line)
  count_event('automatic_echo')
  note(cid, key, 'automatic_reply')
  keep_line(cid, line)
end
