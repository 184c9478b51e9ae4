-- include: keys, numbers, ledger, history
-- include: early_edits, revision
-- The customer changes a message.
-- event: cid, channel, account_id, customer_id, key, original (key of the message), number (of the edit, from 1), text
--        (JSON string: the new words)

local function edit(event)
  local cid, original, edits, new_text = event.cid, event.original, tonumber(event.number), event.text
  count_event('edit')
  local index, entry, seq, recv = find(cid, original)
  if index then
    local read, body = pcall(edited, string.match(entry, '^%d+ %d+ %S+ (.*)$'), edits, new_text)
    if not read then return end
    redis.call('LSET', at(cid, 'inbox'), index, seq .. ' ' .. text(recv) .. ' ' .. original .. ' ' .. body)
  elseif not redis.call('ZSCORE', at(cid, 'seen'), original) then
    keep_early_edit(cid, original, edits, new_text)
    return
  end
  local read, words = pcall(cjson.decode, '[' .. new_text .. ']')
  change_line(cid, original, function(line)
    if not read or number(line['edits']) > edits then return false end
    line['text'], line['edits'] = words_of(line['notes'], words[1]), edits
    return line
  end)
  forget_told(cid, original)
  revise(cid)
  note(cid, original, 'edited')
end
