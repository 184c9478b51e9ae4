#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, plan, alerts, hold
-- Give the lease back and come again at a time: a deferral, a backoff, a deploy.
-- ARGV: cid, token, delay_ms, reason, failed ('1': this turn ended in an exception), drop_plan ('1'),
--       alert id ('' for none), alert (JSON): the managers are told that the window closes,
--       scratchpad ('' leaves the one there is), the last action (ms) whose window the alert tells of,
--       the revision of the scratchpad: what was looked up for words that are not what they were is not kept
-- Returns the number of failed turns so far, or -1 when the lease was not the caller's.

local cid, token, DELAY, reason, failed, drop_plan = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
if not holds(cid, token) then return -1 end
if failed == '1' then increase(cid, 'failures') end
if drop_plan == '1' then forget_plan(cid) end
if ARGV[7] ~= '' then
  raise_alert(cid, ARGV[7], ARGV[8])
  redis.call('HSET', at(cid), 'window_told', ARGV[10])
end
if ARGV[9] ~= '' and (redis.call('HGET', at(cid), 'revised') or '0') == ARGV[11] then
  redis.call('HSET', at(cid), 'notebook', ARGV[9])
end
note(cid, '', 'held', reason)
hold(cid, NOW + DELAY, reason, NOW + LOOK_PAUSE)
return number(redis.call('HGET', at(cid), 'failures'))
