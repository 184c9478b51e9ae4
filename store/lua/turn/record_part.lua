#!lua flags=allow-oom
-- include: keys, ledger, sent, plan, retention
-- A fact about one part, from any process that learned it: never fenced, idempotent, and a message id is never taken back.
-- ARGV: cid, plan_id, part, state, key of the message id (or ''), code, then of one that is looked for: how often it was
--       not found, how often Meta could not be asked
-- Returns the state that stands, or 'gone'.

local cid, plan_id, i, state, key, code, misses, failed_looks = unpack(ARGV, 1, 8)
if key ~= '' then
  remember_sent(cid, key)
  -- It comes after the end, and goes with the rest; or the conversation is gone already.
  if (redis.call('HGET', at(cid), 'state') or 'rest') == 'rest' then retain(cid) end
end
local plan = redis.call('HMGET', at(cid, 'plan'), 'id', i .. ':state')
if plan[1] ~= plan_id then return 'gone' end
if plan[2] == 'sent' then return 'sent' end
local doubted = redis.call('HMGET', at(cid), 'doubted', 'doubted_line')
if key ~= '' and doubted[1] == key then
  -- An echo with these words, changed by Meta, was taken for a human's before it was known to be ours.
  redis.call('LREM', at(cid, 'history'), -1, doubted[2])
  redis.call('HDEL', at(cid), 'takeover_until')
  for other = 0, parts_of(cid) - 1 do
    if redis.call('HGET', at(cid, 'plan'), other .. ':state') == 'dropped' then
      redis.call('HSET', at(cid, 'plan'), other .. ':state', 'planned')
    end
  end
  note(cid, key, 'thread_returned', 'the echo was ours')
end
if state ~= 'sending' then redis.call('HDEL', at(cid), 'doubted', 'doubted_line') end
if code == 'not_found' then
  local part = redis.call('HMGET', at(cid, 'plan'), i .. ':hash', i .. ':alike')
  remember_doubtful(cid, part[1])
  for alike in string.gmatch(part[2] or '', '%S+') do remember_doubtful(cid, alike) end
end
redis.call('HSET', at(cid, 'plan'), i .. ':state', state, i .. ':key', key, i .. ':code', code,
  i .. ':misses', misses, i .. ':failed_looks', failed_looks)
if code == 'plain' then redis.call('HSET', at(cid, 'plan'), i .. ':plain', '1') end -- and it stays, whatever comes next
note(cid, '', state, 'part ' .. i .. (code ~= '' and (' ' .. code) or ''))
return state
