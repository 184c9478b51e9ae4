#!lua
-- include: keys, clock, ledger, sent
-- Right before the call: one worker has the comment, and its echo will be known as ours even before the answer comes.
-- ARGV: id, lease_ms, cid, hash of the reply. Returns "sending", "taken", "gone", or "unknown" for one whose sender is
-- gone: it may have arrived, and is forgotten.
local DAY_MS = 86400000
local id, LEASE, cid, hash = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local known = redis.call('HGET', ns.comments, id)
if not known then redis.call('ZREM', ns.comments_due, id) return 'gone' end
if tonumber(redis.call('ZSCORE', ns.comments_due, id) or '0') > NOW then return 'taken' end
local body = cjson.decode(known)
if body['sending'] then
  redis.call('HDEL', ns.comments, id)
  redis.call('ZREM', ns.comments_due, id)
  count_event('private_reply_unknown')
  return 'unknown'
end
body['sending'] = true
body['tries'] = (body['tries'] or 0) + 1
redis.call('HSET', ns.comments, id, cjson.encode(body))
redis.call('ZADD', ns.comments_due, NOW + LEASE, id)
remember_doubtful(cid, hash)
if redis.call('EXISTS', at(cid)) == 0 then redis.call('PEXPIRE', at(cid, 'maybe'), 7 * DAY_MS) end
return 'sending'
