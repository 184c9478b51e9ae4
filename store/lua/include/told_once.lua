-- include: keys, clock
-- What concerns no conversation and is told once.

-- For what concerns no conversation.
local function told_first_time(key)
  if redis.call('ZADD', ns.told, 'NX', NOW, key) == 0 then return false end
  redis.call('ZREMRANGEBYRANK', ns.told, 0, -5001)
  return true
end
