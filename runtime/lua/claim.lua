#!lua flags=allow-oom
-- Take a conversation's lease, if it was handed out and nobody holds it, and read all that a turn needs.
-- ARGV: cid, token, lease_ms, history_lines
-- Returns a view ('claimed') or {reason}.

local cid, token, LEASE, LINES = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('ZREM', 'ns:handed', cid) == 0 then return {'not_handed_out'} end
local c = redis.call('HMGET', at(cid), 'state', 'lease_until')
local lease_until = tonumber(c[2] or '0')
if c[1] == 'leased' and lease_until > NOW then
  redis.call('ZADD', 'ns:due', lease_until, cid)
  return {'leased'}
end
if redis.call('LLEN', at(cid, 'inbox')) == 0 and redis.call('EXISTS', at(cid, 'plan')) == 0 then
  rest(cid)
  return {'nothing'}
end
if c[1] == 'leased' then
  redis.call('HINCRBY', at(cid), 'vanished', 1)
  note(cid, '', 'vanished', 'the lease ran out')
end
-- Whoever was sending is gone: what was on its way may have arrived.
for i = 0, tonumber(redis.call('HGET', at(cid, 'plan'), 'n') or '0') - 1 do
  if redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sending' then
    redis.call('HSET', at(cid, 'plan'), i .. ':state', 'unknown')
    note(cid, '', 'unknown', 'part ' .. i)
  end
end
redis.call('HSET', at(cid), 'state', 'leased', 'token', token, 'lease_until', text(NOW + LEASE))
redis.call('ZADD', 'ns:due', NOW + LEASE, cid)
note(cid, '', 'claimed')
return view('claimed', cid, LINES)
