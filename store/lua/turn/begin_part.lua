#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, plan, parking, rate_limit
-- The decision to send one part: fenced, and written down before the call.
-- ARGV: cid, token, plan_id, part, margin_ms, then as pace.lua: key of the account's slots, how many, the span, longest wait,
--       mark of the caller's token (or nothing, where a slot was taken before)
-- Returns {'sending'}, or why not: {'parked', why, milliseconds left}, {'line', microseconds to wait, 1 when the slot is
-- taken}, {'lost'}, {'late'}, {'gone'} (what it was made from was taken back or changed), or the part's own state.

local cid, token, plan_id, i, MARGIN = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if not holds(cid, token) then return {'lost'} end
local c = redis.call('HMGET', at(cid), 'lease_until', 'takeover_until', 'revised')
if number(c[1]) - NOW < MARGIN then return {'late'} end
local plan = redis.call('HMGET', at(cid, 'plan'), 'id', i .. ':state', i .. ':unless', i .. ':tries', 'revised')
if plan[1] ~= plan_id or (plan[5] ~= (c[3] or '0') and drop_stale_plan(cid)) then return {'gone'} end
if plan[2] == 'sending' then return {'unknown'} end -- "sending" is a go, and this one has gone
if plan[2] ~= 'planned' and plan[2] ~= 'failed' then return {plan[2]} end
-- A human has written since the plan was made: over their words nothing is said. And what was taken back by the
-- customer gets no reaction.
local taken_back = plan[3] and redis.call('ZSCORE', at(cid, 'seen'), plan[3])
if taken_back or number(c[2]) > NOW then
  redis.call('HSET', at(cid, 'plan'), i .. ':state', 'dropped')
  return {'dropped'}
end
if ARGV[6] then
  local most, span, longest, mark = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]
  local wait, taken, why, left = take_slot(ARGV[6], most, span, longest, parking_of(cid), mark)
  if why ~= '' then return {'parked', why, left} end
  if wait > 0 then return {'line', wait, taken} end
end
redis.call('HSET', at(cid, 'plan'), i .. ':state', 'sending', i .. ':at', text(NOW), i .. ':tries', text(number(plan[4]) + 1))
note(cid, '', 'sending', 'part ' .. i)
return {'sending'}
