-- include: keys, clock, numbers, conversation, ledger, inbox, history, plan, rest, hold
-- include: foreign_echo, greeting, own_echo, settings, takeover
-- constants: FOR_PEOPLE
-- An echo that was read back: it comes late, and counts from when it was written.
-- event: as receive/echo.lua

-- The open messages that these words are younger than have been answered by them, had a webhook told of it in time.
local function answered_before(cid, account, when)
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  -- The hold's reason stays with a lease: such a turn has begun because the waiting for people was over.
  if not FOR_PEOPLE[c[2]] or (c[1] ~= 'held' and c[1] ~= 'leased') then return end
  if something_arrived(cid) then return end
  local older = {}
  for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local _, _, key = head(entry)
    if key and number(body_of(entry)['at']) <= when then
      older[key] = true
      keep_words(cid, entry)
    end
  end
  local gone, left = filter_inbox(cid, function(key) return not older[key] end)
  if #gone == 0 then return end
  for _, key in ipairs(gone) do close(cid, account, key, 'silenced', 'human_answered') end
  increase(cid, 'rev')
  forget_plan(cid)
  if left == 0 then rest(cid) elseif c[1] == 'leased' then hold(cid, NOW, c[2]) end
end

-- An echo whose webhook never came: what it would have done then it does now, and people keep the conversation for as
-- long after their words, not after the moment when we have read them.
local function late_echo(event)
  local cid, account, key, when, line = event.cid, event.account, event.key, event.at, event.line
  if is_ours(event) then return count_event('own_echo') end
  if is_empty(cid, key, line) then return end
  if is_greeting(cid, event.likeness, when) then return automatic(cid, key, line) end
  count_event('foreign_echo')
  remember_doubt(cid, key, line)
  note(cid, key, 'human_wrote', 'read back')
  answered_before(cid, account, tonumber(when))
  local before = number(redis.call('HGET', at(cid), 'takeover_until'))
  local takeover = tonumber(when) + people_of(account)
  if takeover > math.max(before, NOW) then
    defer(cid, account, key)
    redis.call('HSET', at(cid), 'takeover_until', text(takeover))
    local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
    if c[1] == 'held' and c[2] == 'human' then hold(cid, takeover, 'human') end
  end
  keep_line(cid, line)
end
