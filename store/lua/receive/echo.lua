-- include: keys, conversation, ledger, inbox, history, rest
-- include: foreign_echo, greeting, own_echo, takeover
-- An echo: something was sent from our account, by us, by Meta's automatic replies, or by a human, who then has the
-- conversation.
-- event: cid, channel, account_id, customer_id, key, at, likeness (hash of its text, or "@" and its kind where it is a
--        bare attachment), is_ours ('1' when our app sent it), tag ("plan:part" of its metadata), line (for the history
--        when it is foreign, '' when there is nothing in it)

local function human_wrote(cid, account, key, line)
  note(cid, key, 'human_wrote')
  if waits_for_people(cid) then
    -- Words that came while the messages waited for a human are the answer to them.
    for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do keep_words(cid, entry) end
    local gone = filter_inbox(cid, function() return false end)
    for _, open_key in ipairs(gone) do close(cid, account, open_key, 'silenced', 'human_answered') end
    increase(cid, 'rev')
    rest(cid)
  end
  defer(cid, account, key)
  keep_line(cid, line)
end

local function echo(event)
  local cid, account, key, line = event.cid, event.account, event.key, event.line
  if is_ours(event) then
    count_event('own_echo')
  elseif is_empty(cid, key, line) then return
  elseif is_automatic(cid, account, event.at) or is_greeting(cid, event.likeness, event.at) then
    automatic(cid, key, line)
  else
    if not redis.call('HGET', at(cid), 'said_at') then redis.call('HSETNX', at(cid), 'opened_at', event.at) end
    count_event('foreign_echo')
    remember_doubt(cid, key, line)
    human_wrote(cid, account, key, line)
  end
end
