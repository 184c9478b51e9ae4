#!lua flags=allow-oom
-- include: keys, conversation, ledger
-- No call was made: a part that begin_part.lua has let go is as it was before.
-- ARGV: cid, token, plan_id, part. Returns 1, or 0 when another turn decides for it by now.
local cid, token, plan_id, i = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not holds(cid, token) then return 0 end
local plan = redis.call('HMGET', at(cid, 'plan'), 'id', i .. ':state')
if plan[1] ~= plan_id or plan[2] ~= 'sending' then return 0 end
-- One that had been tried before had failed, or it would not have been tried again.
local tries = redis.call('HINCRBY', at(cid, 'plan'), i .. ':tries', -1)
redis.call('HSET', at(cid, 'plan'), i .. ':state', tries > 0 and 'failed' or 'planned')
count_event('send_unconfirmed')
note(cid, '', 'planned', 'part ' .. i .. ' unconfirmed')
return 1
