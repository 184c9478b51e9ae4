#!lua
-- One POST (or several that waited together) becomes inbox entries, deferrals and counts, in one round trip.
-- ARGV: quiet, cap, flood_cap, people (JSON: account -> [takeover_ms, auto_reply_ms], "" for all others), then eleven
-- values an event:
--   op, cid, channel, account, customer, key, at (Meta's time), p1, p2, p3, payload
--   m  a customer's message   p1 = reason when no answer is due, p2 = key of its deletion, p3 = on what occasion it was
--                             read back ('' when Meta sent it), payload = JSON
--   e  an echo                p1 = hash of its text, or "@" and its kind where it is a bare attachment,
--                             p2 = '1' when our app sent it, p3 = "plan:part" of its metadata,
--                             payload = the history line to keep when it is foreign, '' when there is nothing in it
--   l  an echo read back      as e: it comes late, and counts from when it was written
--   x  an edit                p1 = key of the original, p2 = its number, payload = JSON string of the new text
--   g  a message to be read   key = that of the message, cid = '' when Meta does not tell whose it is, p1 = kind,
--                             p2, p3 = id and alert for when there is no room, payload = what a worker needs for it
--   d  a deletion             p1 = key of the original
--   a  an action              p1 = kind; it opens the messaging window
--   t  control of the thread  p1 = kind, p2 = '1' when it is ours now
--   p  policy enforcement     p1 = action, p2 = how long a block lasts at most, payload = alert
--   n  noted                  p1 = kind, payload = alert to raise once (with p2 as its id), or ''
-- Returns {stored, duplicates, foreign echoes, own echoes, now}.

local QUIET, CAP, FLOOD = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored, duplicates, foreign, own = 0, 0, 0, 0

local people
-- How long a human's words keep the bot out, and within what time an echo is Meta's own automatic reply.
local function people_of(account)
  people = people or cjson.decode(ARGV[4])
  return unpack(people[account] or people[''])
end

local function event(kind) redis.call('HINCRBY', 'ns:events', kind, 1) end

local function duplicate()
  duplicates = duplicates + 1
  event('duplicate')
end

local function first_time(cid, key)
  if redis.call('ZADD', at(cid, 'seen'), 'NX', NOW, key) == 1 then return true end
  duplicate()
  return false
end

-- For what concerns no conversation.
local function told_first_time(key)
  if redis.call('ZADD', 'ns:told', 'NX', NOW, key) == 0 then return false end
  redis.call('ZREMRANGEBYRANK', 'ns:told', 0, -5001)
  return true
end

local function introduce(cid, channel, account, customer)
  keep_for_good(cid)
  redis.call('HSETNX', at(cid), 'customer', customer)
  if redis.call('HSETNX', at(cid), 'account', account) == 1 then
    redis.call('HSET', at(cid), 'channel', channel, 'state', 'rest')
  end
end

-- What came changed nothing for a conversation in which nothing is open: it goes on towards its end.
local function keep_no_longer(cid)
  if redis.call('HGET', at(cid), 'state') ~= 'rest' then return end
  forget_seen(cid)
  retain(cid)
end

local function edited(payload, edits, new_text)
  local read, body = pcall(cjson.decode, payload)
  if not read or type(body) ~= 'table' then body = {lost = true} end
  if number(body['edits']) > edits or body['gone'] then return payload end -- a later one has come before it
  body['text'] = cjson.decode('[' .. new_text .. ']')[1]
  body['edits'] = edits
  return cjson.encode(body)
end

-- An edit may overtake its message: it is kept for a while, and makes the message what it is now.
local MOST_EARLY_EDITS, EARLY_EDIT = 50, 48 * 3600000

local function keep_early_edit(cid, key, edits, new_text)
  local early = at(cid, 'edits')
  local known = redis.call('HGET', early, key)
  if known and number(string.match(known, '^%d+')) > edits then return end
  if not known and redis.call('HLEN', early) >= MOST_EARLY_EDITS then return end
  redis.call('HSET', early, key, edits .. ' ' .. new_text)
  redis.call('PEXPIRE', early, EARLY_EDIT, 'NX')
end

-- The message as an early edit has made it, or nil. Nothing may fail once a message has begun to be stored, so this is
-- asked before; an edit that cannot be read is none.
local function by_early_edit(cid, key, payload)
  local early = redis.call('HGET', at(cid, 'edits'), key)
  if not early then return end
  local edits, new_text = string.match(early, '^(%d+) (.*)$')
  local read, new_payload = pcall(edited, payload, number(edits), new_text)
  return read and new_payload or nil
end

-- The greeting of an ad comes as an echo, too, before the first words that the tap on the ad sends. Meta documents no
-- such echo; a human who writes first is answered later than that.
local GREETING_WITHIN = 5000

local function is_just_before(echo_at, words_at)
  return echo_at and words_at and words_at > echo_at and words_at - echo_at <= GREETING_WITHIN
end

-- A customer's first words, when our account had written before. True when that was no human, and holds nothing up.
local function was_greeted(cid, account, key, opened_at, when)
  redis.call('HDEL', at(cid), 'opened_at')
  if not is_just_before(number(opened_at), tonumber(when)) then return false end
  redis.call('HDEL', at(cid), 'takeover_until')
  event('automatic_greeting')
  note(cid, key, 'automatic_reply', 'a greeting before the first words')
  return true
end

-- Another app that has a thread hears it directly and we only listen. So it is where people have taken the thread; where
-- customer after customer is heard like that and none directly, the other app is the one that gets new threads.
local STANDBY_CUSTOMERS, STANDBY_SPAN, EXPLAINED = 3, 3 * 86400000, 7 * 86400000
local heard = {} -- accounts to whom somebody wrote directly, in this call

local function heard_directly(account)
  if heard[account] then return end
  heard[account] = true
  redis.call('DEL', 'ns:standby:' .. account)
end

local function heard_on_standby(cid, channel, account_id, takeover)
  local account = channel .. ' ' .. account_id
  local customers = 'ns:standby:' .. account
  heard[account] = nil
  if takeover > NOW - EXPLAINED or redis.call('SCARD', customers) >= STANDBY_CUSTOMERS then return end
  redis.call('SADD', customers, cid)
  redis.call('PEXPIRE', customers, STANDBY_SPAN)
  if redis.call('SCARD', customers) < STANDBY_CUSTOMERS then return end
  event('standby_alone')
  if not redis.call('SET', 'ns:telling:standby:' .. account, '1', 'NX', 'PX', 86400000) then return end
  local body = {rule = 'account_standby', channel = channel, account = account_id, first_at = NOW, count = 1}
  raise_alert('', 'account:' .. channel .. ':' .. account_id .. ':standby', cjson.encode(body))
end

-- A conversation of very many messages remembers only the newest: what is older than one that had to go may be one of
-- those. Nobody could tell; so much in so little time is a flood in any case.
local LATE = 60000

local function may_be_forgotten(forgotten_at, when)
  return forgotten_at and NOW - when >= LATE and when <= number(forgotten_at)
end

local STATES = {rest = true, gathering = true, held = true, leased = true}

-- Every customer's words pass here, so it asks the server once for all it must know and writes the fields once.
local function message(cid, channel, account_id, customer, key, when, reason, deletion_key, found, payload)
  local account, copy = channel .. ' ' .. account_id, 'standby ' .. key
  local seen = redis.call('ZMSCORE', at(cid, 'seen'), key, copy, deletion_key)
  local reopened = seen[2] and reason ~= 'standby' and found == ''
  if seen[1] and not reopened then return duplicate() end
  local c = redis.call('HMGET', at(cid), 'account', 'state', 'first', 'takeover_until', 'acted_at', 'said_at', 'seq', 'rev', 'opened_at',
    'forgotten_at', 'channel', 'customer')
  if reason == '' and found == '' and may_be_forgotten(c[10], tonumber(when)) then reason = 'flood' end
  local state, seq = STATES[c[2]] and c[2] or 'rest', text(number(c[7]) + 1)
  local fields = {'seq', seq}
  local new_payload = c[1] and reason == '' and by_early_edit(cid, key, payload)
  local function set(field, value) fields[#fields + 1] = field; fields[#fields + 1] = value end
  if c[1] ~= account_id or c[11] ~= channel or c[12] ~= customer then
    set('customer', customer) set('account', account_id) set('channel', channel) set('state', state)
    if c[2] then keep_for_good(cid) end
  elseif state == 'rest' then
    keep_for_good(cid)
  end
  if reopened then
    -- Counted when its standby copy came: one message has one outcome, and it is not that one.
    redis.call('ZREM', at(cid, 'seen'), copy)
    count(account, 'silenced', -1)
    note(cid, key, 'reopened', 'standby')
  else
    redis.call('ZADD', at(cid, 'seen'), NOW, key)
    if reason == 'standby' then redis.call('ZADD', at(cid, 'seen'), NOW, copy) end
    count(account, 'received')
    note(cid, key, 'received')
  end
  if new_payload then
    redis.call('HDEL', at(cid, 'edits'), key)
    note(cid, key, 'edited')
  end
  stored = stored + 1
  if found ~= '' then event('found_by_' .. found) end
  if reason ~= 'test_event' and reason ~= 'self' then
    if tonumber(when) > number(c[5]) then set('acted_at', when) end
    if tonumber(when) > number(c[6]) then set('said_at', when) end
  end
  local takeover = number(c[4])
  if reason == 'standby' then heard_on_standby(cid, channel, account_id, takeover)
  elseif reason == '' and found == '' then heard_directly(account) end
  if not c[6] and reason == '' then
    local greeted = c[9] and was_greeted(cid, account, key, c[9], when)
    if greeted then takeover = 0 end
    if greeted or not c[9] then set('began_at', when) end
  end
  redis.call('ZADD', 'ns:open', NOW, cid .. ' ' .. key)
  if reason == '' and seen[3] then reason = 'deleted' end
  if reason == '' then
    local waiting = redis.call('RPUSH', at(cid, 'inbox'), seq .. ' ' .. text(NOW) .. ' ' .. key .. ' ' .. (new_payload or payload))
    if waiting > FLOOD then
      redis.call('RPOP', at(cid, 'inbox'))
      reason = 'flood'
    end
  end
  if reason ~= '' then
    redis.call('HSET', at(cid), unpack(fields))
    close(cid, account, key, 'silenced', reason)
    forget_seen(cid)
    if state == 'rest' then retain(cid) end
    return
  end
  set('rev', text(number(c[8]) + 1))
  if takeover > NOW then
    -- Where the server's clock has gone back since, it would last longer than any takeover.
    local latest = NOW + people_of(account)
    if takeover > latest then
      takeover = latest
      set('takeover_until', text(takeover))
    end
  end
  local begins = state == 'rest' and takeover <= NOW
  if begins then set('state', 'gathering') set('first', text(NOW)) end
  redis.call('HSET', at(cid), unpack(fields))
  if begins then
    schedule(cid, due_at(NOW, NOW, QUIET, CAP))
  elseif state == 'rest' then
    hold(cid, takeover, 'human')
    note(cid, key, 'held', 'human')
  elseif state == 'gathering' and not redis.call('ZSCORE', 'ns:handed', cid) then
    -- Handed out already, it would be taken along by the turn that comes: the deadline is the dispatcher's then.
    schedule(cid, due_at(number(c[3]), NOW, QUIET, CAP))
  elseif (state == 'held' or state == 'leased') and not redis.call('ZSCORE', 'ns:due', cid) then
    schedule(cid, NOW) -- it says that it waits, and nobody would come for it
  end
end

-- A template or a picture has an echo without words, which is like any other of its kind: it is ours while the fate of
-- ours is open, and once within this time after its plan is gone.
local BARE_ECHO_WITHIN = 60000

-- Words or a bare attachment that may have arrived before their plan went.
local function may_be_ours(cid, text_hash)
  local doubted_at = text_hash ~= '' and redis.call('ZSCORE', at(cid, 'maybe'), text_hash)
  if not doubted_at then return false end
  if string.sub(text_hash, 1, 1) ~= '@' then return true end
  redis.call('ZREM', at(cid, 'maybe'), text_hash)
  return NOW - tonumber(doubted_at) <= BARE_ECHO_WITHIN
end

local function is_like(hash, alike, text_hash)
  if text_hash == '' then return false end
  return hash == text_hash or string.find(' ' .. (alike or '') .. ' ', ' ' .. text_hash .. ' ', 1, true) ~= nil
end

-- Sent by us? By message id, by our metadata, or by the text (or kind) of a part whose fate is not known yet.
local function is_ours(cid, key, text_hash, app_is_ours, tag)
  if redis.call('ZSCORE', at(cid, 'sent'), key) then return true end
  local plan = redis.call('HGET', at(cid, 'plan'), 'id')
  for i = 0, parts_of(cid) - 1 do
    local part = redis.call('HMGET', at(cid, 'plan'), i .. ':state', i .. ':hash', i .. ':code', i .. ':alike')
    local undecided = part[1] == 'sending' or part[1] == 'unknown' or (part[1] == 'failed' and part[3] == 'not_found')
    if undecided and (tag == plan .. ':' .. i or is_like(part[2], part[4], text_hash)) then
      redis.call('HSET', at(cid, 'plan'), i .. ':state', 'sent', i .. ':key', key)
      remember_sent(cid, key)
      note(cid, '', 'sent', 'part ' .. i .. ', proved by its echo')
      -- The settling conversation need not wait for its next look-up.
      if part[1] == 'unknown' and redis.call('HGET', at(cid), 'hold_reason') == 'settling' then schedule(cid, NOW) end
      return true
    end
  end
  if may_be_ours(cid, text_hash) then
    remember_sent(cid, key)
    note(cid, '', 'sent', 'proved by a late echo')
    return true
  end
  return app_is_ours == '1' or tag ~= ''
end

local function waits_for_people(cid)
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  return c[1] == 'held' and (c[2] == 'human' or c[2] == 'humans_first' or c[2] == 'off_duty')
end

-- Somebody else has the conversation: the draft is dropped, what is open waits for them.
local function defer(cid, account, key)
  local takeover = NOW + people_of(account)
  -- The bot that comes back after people says again what it is.
  redis.call('HSET', at(cid), 'takeover_until', text(takeover), 'disclosed', '0')
  if redis.call('LLEN', at(cid, 'inbox')) == 0 then return end
  for i = 0, parts_of(cid) - 1 do
    local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
    if state == 'planned' or state == 'failed' then redis.call('HSET', at(cid, 'plan'), i .. ':state', 'dropped') end
  end
  if something_arrived(cid) then return end -- what is on its way is finished by its turn; the rest stays unsent
  forget_plan(cid)
  hold(cid, takeover, 'human')
  note(cid, key, 'held', 'human')
end

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

-- Meta's instant reply and away message come as echoes like a human's words, but right after the customer's.
local function is_automatic(cid, account, when)
  local _, within = people_of(account)
  local after = tonumber(when) - number(redis.call('HGET', at(cid), 'said_at'))
  return after >= 0 and after < within
end

-- Meta may change our words on their way, and their echo may overtake the answer that tells their id: record_part.lua
-- takes such a takeover back.
local function remember_doubt(cid, key, line)
  if number(redis.call('HGET', at(cid), 'takeover_until')) > NOW then
    redis.call('HDEL', at(cid), 'doubted', 'doubted_line') -- two foreign echoes: one at least is a human's
    return
  end
  for i = 0, parts_of(cid) - 1 do
    if redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sending' then
      redis.call('HSET', at(cid), 'doubted', key, 'doubted_line', line)
    end
  end
end

-- Before the first words of all, and known only after them (was_greeted sees the usual order): a card or another thing
-- without words, as an ad's greeting has been seen. A human's words are late more often than they are first.
local function is_greeting(cid, text_hash, when)
  if text_hash ~= '' and string.sub(text_hash, 1, 1) ~= '@' then return false end
  return is_just_before(tonumber(when), tonumber(redis.call('HGET', at(cid), 'began_at') or nil))
end

-- Nothing is in it that a customer could have read: it proves no human, and no line is kept. Should its words be told of
-- later, or be read back, they count.
local function is_empty(cid, key, line)
  if line ~= '' then return false end
  event('empty_echo')
  note(cid, key, 'empty_echo')
  redis.call('ZREM', at(cid, 'seen'), key)
  return true
end

local function automatic(cid, key, line)
  event('automatic_echo')
  note(cid, key, 'automatic_reply')
  keep_line(cid, line)
end

local function echo(cid, account, key, when, p1, p2, p3, line)
  if is_ours(cid, key, p1, p2, p3) then
    own = own + 1
    event('own_echo')
  elseif is_empty(cid, key, line) then return
  elseif is_automatic(cid, account, when) or is_greeting(cid, p1, when) then
    automatic(cid, key, line)
  else
    if not redis.call('HGET', at(cid), 'said_at') then redis.call('HSETNX', at(cid), 'opened_at', when) end
    foreign = foreign + 1
    event('foreign_echo')
    remember_doubt(cid, key, line)
    human_wrote(cid, account, key, line)
  end
end

-- The open messages that these words are younger than have been answered by them, had a webhook told of it in time.
local function answered_before(cid, account, when)
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  -- The hold's reason stays with a lease: such a turn has begun because the waiting for people was over.
  if not DEFERRALS[c[2]] or (c[1] ~= 'held' and c[1] ~= 'leased') then return end
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
local function late_echo(cid, account, key, when, p1, p2, p3, line)
  if is_ours(cid, key, p1, p2, p3) then
    own = own + 1
    event('own_echo')
    return
  end
  if is_empty(cid, key, line) then return end
  if is_greeting(cid, p1, when) then return automatic(cid, key, line) end
  foreign = foreign + 1
  event('foreign_echo')
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

local function control(cid, account, key, kind, ours)
  event(kind .. '_thread_control')
  if ours ~= '1' then
    note(cid, key, 'thread_taken')
    redis.call('HDEL', at(cid), 'opened_at') -- whatever was said before: this is no greeting
    defer(cid, account, key)
    return
  end
  note(cid, key, 'thread_returned')
  redis.call('HDEL', at(cid), 'takeover_until')
  redis.call('HSET', at(cid), 'disclosed', '0')
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  if c[1] == 'held' and c[2] == 'human' then hold(cid, NOW, 'human') end
end

local function find(cid, key)
  for index, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local seq, recv, found = head(entry)
    if found == key then return index - 1, entry, seq, recv end
  end
end

local some_unread -- whether any is noted: looked up once, when the first message needs it

local function need_not_read(key)
  if some_unread == nil then some_unread = redis.call('EXISTS', 'ns:unread') == 1 end
  if some_unread and redis.call('HDEL', 'ns:unread', key) == 1 then redis.call('ZREM', 'ns:unread:due', key) end
end

-- What a turn, or a plan, was made from is not what it was: the turn thinks again, a plan of which nothing has arrived
-- goes, and so does what was looked up for it.
local function revise(cid)
  increase(cid, 'rev')
  increase(cid, 'revised')
  redis.call('HDEL', at(cid), 'notebook')
  drop_stale_plan(cid)
end

-- What the telemetry keeps of a customer's words: thoughts of failed turns may quote any message of the conversation,
-- a record has the topics of the messages it answered (tell.lua).
local function forget_told(cid, key)
  for _, told in ipairs(redis.call('LRANGE', at(cid, 'told'), 0, -1)) do
    local record, keys = string.match(told, '^(%d+%-%d+)(.*)$')
    if record then redis.call('DEL', at(cid, 'thoughts:' .. record)) end
    if record and string.find(keys .. ' ', ' ' .. key .. ' ', 1, true) then
      -- Counted, so that it is not taken for one that the stream had no room for.
      redis.call('INCRBY', 'ns:telemetry:erased', redis.call('XDEL', 'ns:telemetry', record))
      redis.call('LREM', at(cid, 'told'), 0, told)
    end
  end
end

-- The line of a message in the history becomes what `change(line)` makes of it: nil takes it out, false leaves it.
local function change_line(cid, key, change)
  local marked = '"key":"' .. key .. '"'
  for index, stored in ipairs(redis.call('LRANGE', at(cid, 'history'), 0, -1)) do
    if string.find(stored, marked, 1, true) then
      local read, line = pcall(cjson.decode, stored)
      local changed = change(read and type(line) == 'table' and line or {})
      if changed then redis.call('LSET', at(cid, 'history'), index - 1, cjson.encode(changed))
      elseif changed == nil then redis.call('LREM', at(cid, 'history'), 0, stored) end
    end
  end
end

local function edit(cid, original, edits, new_text)
  event('edit')
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

local function delete(cid, account, original)
  event('deletion')
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
  close(cid, account, original, 'silenced', 'deleted')
  if left == 0 and not something_arrived(cid) then
    forget_plan(cid)
    if redis.call('HGET', at(cid), 'state') ~= 'leased' then rest(cid) end
  end
end

-- A refused send may have told of the block before, or instead of, its webhook.
local function lifted_by_unblock(reason) return reason == 'policy_block' or reason == 'restricted' end

local function enforce(channel, account, key, action, longest, alert)
  event('policy_enforcement')
  if not told_first_time(key) then return end
  local parked = 'ns:parked:' .. channel .. ':' .. account
  if action == 'block' then redis.call('SET', parked, 'policy_block', 'PX', longest)
  elseif action == 'unblock' and lifted_by_unblock(redis.call('GET', parked)) then
    redis.call('DEL', parked)
    wake_waiting(channel .. ' ' .. account)
  end
  if alert ~= '' then raise_alert('', 'account:' .. channel .. ':' .. account .. ':policy_' .. action, alert) end
end

-- Meta sometimes tells of a new message only that it is there. The message itself may be on its way all the same, so
-- that it is read only after a moment.
local UNREAD_GRACE, MOST_UNREAD = 2000, 1000

local function note_unread(cid, key, kind, alert_id, alert, record)
  event(kind)
  if cid ~= '' and redis.call('ZSCORE', at(cid, 'seen'), key) then return end
  if redis.call('HSETNX', 'ns:unread', key, record) == 0 then return end
  some_unread = true
  redis.call('ZADD', 'ns:unread:due', NOW + UNREAD_GRACE, key)
  if redis.call('ZCARD', 'ns:unread:due') > MOST_UNREAD then
    -- The one that has been tried most often, in vain, goes first.
    local gone = redis.call('ZPOPMAX', 'ns:unread:due')[1]
    redis.call('HDEL', 'ns:unread', gone)
    event('unread_dropped')
    raise_alert('', alert_id, alert)
  end
end

for i = 5, #ARGV, 11 do
  local op, cid, channel, account_id, customer, key = unpack(ARGV, i, i + 5)
  local when, p1, p2, p3, payload = unpack(ARGV, i + 6, i + 10)
  local account = channel .. ' ' .. account_id
  if op == 'n' then
    event(p1)
    if payload ~= '' and told_first_time(p2) then raise_alert('', p2, payload) end
  elseif op == 'g' then
    note_unread(cid, key, p1, p2, p3, payload)
  elseif op == 'p' then
    enforce(channel, account_id, key, p1, p2, payload)
  elseif op == 'a' then
    event(p1)
    local c = redis.call('HMGET', at(cid), 'account', 'acted_at')
    if c[1] and tonumber(when) > number(c[2]) then redis.call('HSET', at(cid), 'acted_at', when) end
  elseif op == 'm' then
    if p3 == '' then need_not_read(key) end
    message(cid, channel, account_id, customer, key, when, p1, p2, p3, payload)
  elseif first_time(cid, key) then
    introduce(cid, channel, account_id, customer)
    if op == 'e' then echo(cid, account, key, when, p1, p2, p3, payload)
    elseif op == 'l' then late_echo(cid, account, key, when, p1, p2, p3, payload)
    elseif op == 'x' then edit(cid, p1, tonumber(p2), payload)
    elseif op == 'd' then delete(cid, account, p1)
    elseif op == 't' then control(cid, account, key, p1, p2)
    end
    keep_no_longer(cid)
  end
end
-- Without an event it stores nothing, and proves that it could: /health/ready asks so.
if #ARGV < 5 then redis.call('SET', 'ns:probe', '1', 'PX', 60000) end
return {stored, duplicates, foreign, own, NOW}
