-- include: keys, clock
-- What we have sent, or may have: an echo of it is ours.

local function remember(cid, set, member, horizon, most)
  redis.call('ZADD', at(cid, set), NOW, member)
  redis.call('ZREMRANGEBYSCORE', at(cid, set), '-inf', NOW - horizon)
  redis.call('ZREMRANGEBYRANK', at(cid, set), 0, -most - 1)
end

local function remember_sent(cid, key) remember(cid, 'sent', key, 7 * 86400000, 200) end

-- Words that may have arrived: their echo is ours however late it comes, and whatever became of their plan.
local function remember_doubtful(cid, text_hash) remember(cid, 'maybe', text_hash, 86400000, 50) end
