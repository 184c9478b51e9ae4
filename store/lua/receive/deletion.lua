-- include: keys, numbers, ledger, inbox, plan, rest
-- include: revision, unread
-- The customer takes a message back.
-- event: cid, channel, account_id, customer_id, key, original (key of the message)

local function deletion(event)
  local cid, original = event.cid, event.original
  count_event('deletion')
  redis.call('HDEL', at(cid, 'edits'), original)
  need_not_read(original)
  local index, entry, seq, recv = find(cid, original)
  if not index and not redis.call('ZSCORE', at(cid, 'seen'), original) then return end -- it will be closed as it comes
  change_line(cid, original, function() return nil end)
  forget_told(cid, original)
  -- Once a part of the reply may have arrived, the message ends with it; its words go all the same.
  local is_answered = index and something_arrived(cid) and is_in_plan(cid, original)
  revise(cid)
  if not index then return end
  if is_answered then
    local body = body_of(entry)
    local left = cjson.encode({mid = tostring(body['mid'] or ''), at = number(body['at']), gone = true})
    redis.call('LSET', at(cid, 'inbox'), index, seq .. ' ' .. text(recv) .. ' ' .. original .. ' ' .. left)
    local others = redis.call('HGET', at(cid), 'taken_back')
    redis.call('HSET', at(cid), 'taken_back', (others and others .. ' ' or '') .. original)
    note(cid, original, 'taken_back', 'its reply is on the way')
    return
  end
  local _, left = filter_inbox(cid, function(key) return key ~= original end)
  close(cid, event.account, original, 'silenced', 'deleted')
  if left == 0 and not something_arrived(cid) then
    forget_plan(cid)
    if redis.call('HGET', at(cid), 'state') ~= 'leased' then rest(cid) end
  end
end
