#!lua flags=allow-oom
-- What a turn that starts again must know: messages, plan and history as they are now.
-- ARGV: cid, token, history_lines. Returns as claim does, or {'lost'}.
local cid = ARGV[1]
if not holds(cid, ARGV[2]) then return {'lost'} end
return {'claimed', NOW, redis.call('HGETALL', at(cid)), redis.call('LRANGE', at(cid, 'inbox'), 0, -1),
  redis.call('HGETALL', at(cid, 'plan')), redis.call('LRANGE', at(cid, 'history'), -tonumber(ARGV[3]), -1)}
