-- include: keys, conversation, ledger, inbox, plan
-- Messages that the customer took back while their reply was on its way.

-- Messages taken back while their reply was on its way end with it; when it turns out that nothing of it has arrived,
-- they end as what they are.
local function drop_taken_back(cid)
  local keys = redis.call('HGET', at(cid), 'taken_back')
  if not keys or something_arrived(cid) then return false end
  local gone = filter_inbox(cid, function(key) return not string.find(' ' .. keys .. ' ', ' ' .. key .. ' ', 1, true) end)
  for _, key in ipairs(gone) do close(cid, account_of(cid), key, 'silenced', 'deleted') end
  redis.call('HDEL', at(cid), 'taken_back')
  return #gone > 0
end
