#!lua flags=no-writes
-- include: keys, clock, numbers
-- What the heartbeats and the open messages say; a page of the oldest ones is looked at.
-- A message counts from its arrival, or from the end of the deferral it waited for (include/hold.lua).
-- ARGV: alive_ms, overdue_ms, offset, page
-- Returns {now, alive members, open, oldest received at, overdue on this page, the longest of them since, next offset
-- (0: no more can be overdue), due now, handed out, alerts kept, rules of the incidents that are open}.
local OVERDUE, OFFSET, PAGE = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local border = NOW - OVERDUE
local alive = redis.call('ZRANGEBYSCORE', ns.alive, NOW - tonumber(ARGV[1]), '+inf')
local entries = redis.call('ZRANGE', ns.open, OFFSET, OFFSET + PAGE - 1, 'WITHSCORES')
local overdue, longest, following = 0, 0, #entries == 2 * PAGE and OFFSET + PAGE or 0
local deferred_until = {}
for i = 1, #entries, 2 do
  local received = tonumber(entries[i + 1])
  if received > border then following = 0 break end
  local cid = string.match(entries[i], '^(%S+)')
  if not deferred_until[cid] then
    deferred_until[cid] = number(redis.call('HGET', at(cid), 'deferred_until'))
  end
  local since = math.max(received, deferred_until[cid])
  if since <= border then
    overdue = overdue + 1
    if longest == 0 or since < longest then longest = since end
  end
end
return {NOW, alive, redis.call('ZCARD', ns.open), redis.call('ZRANGE', ns.open, 0, 0, 'WITHSCORES')[2] or '0',
  overdue, text(longest), following, redis.call('ZCOUNT', ns.due, '-inf', NOW), redis.call('ZCARD', ns.handed),
  redis.call('HLEN', ns.alerts), redis.call('HKEYS', ns.incidents)}
