-- include: keys, clock, parking
-- The answer of the scripts that begin or go on with a turn.

-- All that a turn must know, as store/turns/conversations.py reads it, and whether (and for whom) its account rests.
local function view(word, cid, lines, inbox)
  local parked = parking_of(cid)
  local why = redis.call('GET', parked)
  return {word, NOW, redis.call('HGETALL', at(cid)), inbox or redis.call('LRANGE', at(cid, 'inbox'), 0, -1),
    redis.call('HGETALL', at(cid, 'plan')), redis.call('LRANGE', at(cid, 'history'), -lines, -1),
    why or '', why and math.max(redis.call('PTTL', parked), 0) or 0, redis.call('LRANGE', at(cid, 'turns'), 0, -1)}
end
