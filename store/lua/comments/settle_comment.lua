#!lua flags=allow-oom
-- include: keys, clock, ledger, sent, retention
-- constants: HISTORY_LINES
-- What became of a private reply.
-- ARGV: id, word ("sent", "refused", "unknown", "expired", "again", or "unconfirmed": no call was made, and the try does
-- not count), wait_ms for the last two; for "sent" also cid, channel, account, customer, key of the echo, then history
-- lines.
local id, word, WAIT = ARGV[1], ARGV[2], tonumber(ARGV[3])
if word == 'again' or word == 'unconfirmed' then
  local known = redis.call('HGET', ns.comments, id)
  if not known then return 0 end
  local body = cjson.decode(known)
  body['sending'] = nil
  if word == 'unconfirmed' then
    body['tries'] = math.max((body['tries'] or 1) - 1, 0)
    count_event('private_reply_unconfirmed')
  end
  redis.call('HSET', ns.comments, id, cjson.encode(body))
  redis.call('ZADD', ns.comments_due, NOW + WAIT, id)
  return 1
end
redis.call('HDEL', ns.comments, id)
redis.call('ZREM', ns.comments_due, id)
count_event('private_reply_' .. word)
if word ~= 'sent' then return 1 end
local cid, channel, account, customer, key = unpack(ARGV, 4, 8)
-- So that the customer's answer finds a conversation in which the bot has spoken, and not a human.
redis.call('HSETNX', at(cid), 'customer', customer)
if redis.call('HSETNX', at(cid), 'account', account) == 1 then
  redis.call('HSET', at(cid), 'channel', channel, 'state', 'rest')
end
remember_sent(cid, key)
for i = 9, #ARGV do redis.call('RPUSH', at(cid, 'history'), ARGV[i]) end
redis.call('LTRIM', at(cid, 'history'), -HISTORY_LINES, -1)
if redis.call('HGET', at(cid), 'state') == 'rest' then retain(cid) end
return 1
