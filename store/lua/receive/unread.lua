-- include: keys, clock, ledger, alerts
-- A message that Meta tells of without its words: it is read by a worker.
-- event: cid ('' when Meta does not tell whose it is), key (that of the message), counted_as, record (JSON: what a worker
--        needs to read it), alert_id and alert (JSON) for when there is no room

-- Meta sometimes tells of a new message only that it is there. The message itself may be on its way all the same, so
-- that it is read only after a moment.
local UNREAD_GRACE, MOST_UNREAD = 2000, 1000

local some_unread -- whether any is noted: looked up once, when the first message needs it

local function need_not_read(key)
  if some_unread == nil then some_unread = redis.call('EXISTS', ns.unread) == 1 end
  if some_unread and redis.call('HDEL', ns.unread, key) == 1 then redis.call('ZREM', ns.unread_due, key) end
end

local function unread(event)
  local cid, key = event.cid, event.key
  count_event(event.counted_as)
  if cid ~= '' and redis.call('ZSCORE', at(cid, 'seen'), key) then return end
  if redis.call('HSETNX', ns.unread, key, event.record) == 0 then return end
  some_unread = true
  redis.call('ZADD', ns.unread_due, NOW + UNREAD_GRACE, key)
  if redis.call('ZCARD', ns.unread_due) > MOST_UNREAD then
    -- The one that has been tried most often, in vain, goes first.
    local gone = redis.call('ZPOPMAX', ns.unread_due)[1]
    redis.call('HDEL', ns.unread, gone)
    count_event('unread_dropped')
    raise_alert('', event.alert_id, event.alert)
  end
end
