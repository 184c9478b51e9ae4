#!lua flags=allow-oom
-- A fact about one part, from whoever learned it: never fenced, idempotent, and a message id is never taken back.
-- ARGV: cid, plan_id, part, state, key of the message id (or ''), code
-- Returns the state that stands, or 'gone'.

local cid, plan_id, i, state, key, code = unpack(ARGV, 1, 6)
if key ~= '' then remember(cid, 'sent', key, 7 * 86400000, 200) end
local plan = redis.call('HMGET', at(cid, 'plan'), 'id', i .. ':state')
if plan[1] ~= plan_id then return 'gone' end
if plan[2] == 'sent' then return 'sent' end
redis.call('HSET', at(cid, 'plan'), i .. ':state', state, i .. ':key', key, i .. ':code', code)
note(cid, '', state, 'part ' .. i .. (code ~= '' and (' ' .. code) or ''))
return state
