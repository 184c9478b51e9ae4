-- Shared by every script: it is put in front of each of them when they are loaded (store/scripts.py).
-- Time is the server's, so that there is one clock for all leases and deadlines. All times are milliseconds.

local clock = redis.call('TIME')
local NOW = clock[1] * 1000 + math.floor(clock[2] / 1000)
local DAY = math.floor(NOW / 86400000)
local LEDGER_ENTRIES = 200000

-- %.0f, since Lua would write a large number as 1.79e+12.
local function text(number) return string.format('%.0f', number) end

-- What is stored may be damaged, or be another version's: a number that is none counts as 0.
local function number(value)
  local n = tonumber(value)
  if not n or n ~= n or n == math.huge or n == -math.huge then return 0 end
  return n
end

local function at(cid, part) return 'ns:c:' .. cid .. (part and (':' .. part) or '') end

local function note(cid, key, event, why)
  redis.call('XADD', 'ns:ledger', 'MAXLEN', '~', LEDGER_ENTRIES, '*', 'c', cid, 'm', key, 'e', event, 'w', why or '')
end

-- A day can be asked for until it is 400 days old. A count that is as large as its step is new, so that few calls set
-- the time to live.
local function count(account, what, by)
  local day, step = 'ns:count:' .. DAY, by or 1
  redis.call('HINCRBY', 'ns:count', what, step)
  if redis.call('HINCRBY', day, account .. ' ' .. what, step) == step then redis.call('PEXPIRE', day, 401 * 86400000) end
end

-- As HINCRBY, also where what stands there is no number.
local function increase(cid, field)
  redis.call('HSET', at(cid), field, text(number(redis.call('HGET', at(cid), field)) + 1))
end

-- An inbox entry is "seq recv key {json}": the head is read here without decoding the JSON; nothing of a damaged one.
local function head(entry)
  local seq, recv, key = string.match(entry, '^(%d+) (%d+) (%S+) ')
  return tonumber(seq), tonumber(recv), key
end

local function account_of(cid)
  local c = redis.call('HMGET', at(cid), 'channel', 'account')
  return (c[1] or '?') .. ' ' .. (c[2] or '?')
end

-- One message reaches its outcome: the only place where a message stops being open.
local function close(cid, account, key, outcome, why)
  if redis.call('ZREM', 'ns:open', cid .. ' ' .. key) == 1 then
    count(account, outcome)
    note(cid, key, outcome, why)
    return true
  end
  return false
end

local sleeps_until -- read once a call

-- The dispatcher sleeps until the earliest deadline it has seen; an earlier one wakes it.
local function add_deadline(set, member, due)
  redis.call('ZADD', set, due, member)
  sleeps_until = sleeps_until or tonumber(redis.call('GET', 'ns:sleep') or '0')
  if due < sleeps_until then
    sleeps_until = due
    redis.call('SET', 'ns:sleep', text(due))
    if redis.call('LLEN', 'ns:wake') == 0 then redis.call('RPUSH', 'ns:wake', '1') end
  end
end

local function schedule(cid, due) add_deadline('ns:due', cid, due) end

local function remember(cid, set, member, horizon, most)
  redis.call('ZADD', at(cid, set), NOW, member)
  redis.call('ZREMRANGEBYSCORE', at(cid, set), '-inf', NOW - horizon)
  redis.call('ZREMRANGEBYRANK', at(cid, set), 0, -most - 1)
end

-- Meta repeats an event for up to 36 hours; what is older than we remember is refused at the door
-- (store/known_messages.py, SEEN_SECONDS; webhooks/forgotten.py).
local SEEN_HORIZON = 72 * 3600000
local MOST_SEEN = 20000 -- of one conversation: only a flood reaches it
local OPEN_ROOM = 1000 -- more messages of one conversation are never open

-- A key that is open is never forgotten, however old it is and however many came after it: its message would be taken
-- for a new one, and answered twice. When the newest was received that had to go before its time is kept: see
-- may_be_forgotten in receive.lua.
local function forget_seen(cid)
  local seen = at(cid, 'seen')
  local function forget(keys, most)
    local gone, newest = 0, nil
    for _, key in ipairs(keys) do
      if gone < most and not redis.call('ZSCORE', 'ns:open', cid .. ' ' .. key) then
        newest = redis.call('ZSCORE', seen, key)
        redis.call('ZREM', seen, key)
        gone = gone + 1
      end
    end
    return newest
  end
  forget(redis.call('ZRANGEBYSCORE', seen, '-inf', NOW - SEEN_HORIZON, 'LIMIT', 0, 2 * OPEN_ROOM), 2 * OPEN_ROOM)
  local surplus = redis.call('ZCARD', seen) - MOST_SEEN
  if surplus <= 0 then return end
  local newest = forget(redis.call('ZRANGE', seen, 0, surplus + OPEN_ROOM - 1), surplus)
  if newest then redis.call('HSET', at(cid), 'forgotten_at', newest) end
end

local function remember_sent(cid, key) remember(cid, 'sent', key, 7 * 86400000, 200) end

-- Words that may have arrived: their echo is ours however late it comes, and whatever became of their plan.
local function remember_doubtful(cid, text_hash) remember(cid, 'maybe', text_hash, 86400000, 50) end

local MOST_PARTS = 100 -- far more than any reply has: a damaged number must not make a script run for ever

-- The messages of a plan, its enclosures included: `n` counts the words alone.
local function parts_of(cid)
  local plan = redis.call('HMGET', at(cid, 'plan'), 'n', 'all')
  if not plan[1] and not plan[2] then return 0 end
  local parts = math.min(math.max(number(plan[1]), number(plan[2]), 0), MOST_PARTS)
  if parts < 1 then
    while parts < MOST_PARTS and redis.call('HEXISTS', at(cid, 'plan'), parts .. ':state') == 1 do parts = parts + 1 end
  end
  return parts
end

local NOT_SENT = {planned = true, failed = true, dropped = true}

-- Whether the customer may have seen a part of the plan; a state that this version does not know may mean that, too.
local function something_arrived(cid)
  for i = 0, parts_of(cid) - 1 do
    local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
    if state and not NOT_SENT[state] then return true end
  end
  return false
end

local function is_in_plan(cid, key)
  return string.find(' ' .. (redis.call('HGET', at(cid, 'plan'), 'keys') or '') .. ' ', ' ' .. key .. ' ', 1, true) ~= nil
end

-- The only way in which a plan goes.
local function forget_plan(cid)
  for i = 0, parts_of(cid) - 1 do
    local part = redis.call('HMGET', at(cid, 'plan'), i .. ':state', i .. ':hash', i .. ':alike')
    if part[1] == 'sending' or part[1] == 'unknown' then
      if part[2] and part[2] ~= '' then remember_doubtful(cid, part[2]) end
      for alike in string.gmatch(part[3] or '', '%S+') do remember_doubtful(cid, alike) end
    end
  end
  redis.call('DEL', at(cid, 'plan'))
end

-- A plan is bound to the words it was made from (`revised` counts each time a customer changes some or takes some back):
-- when they are not what they were it goes, unless something of it has arrived. Fixed lines are bound to none.
local function drop_stale_plan(cid)
  local made_from = redis.call('HGET', at(cid, 'plan'), 'revised')
  if not made_from or made_from == '' or made_from == (redis.call('HGET', at(cid), 'revised') or '0') then return false end
  if something_arrived(cid) then return false end
  forget_plan(cid)
  note(cid, '', 'dropped', 'the words it was made from are not what they were')
  return true
end

local function parking_of(cid)
  local c = redis.call('HMGET', at(cid), 'channel', 'account')
  return 'ns:parked:' .. (c[1] or '') .. ':' .. (c[2] or '')
end

-- Why an account rests is "reason", for all its senders, or "reason mark mark...", for those whose token has one of
-- these marks (store/accounts/parking.py): who has another token does not know yet whether it works.
local function rests_for(value, mark)
  local reason, marks = string.match(value or '', '^(%S+) ?(.*)$')
  if not reason or (marks ~= '' and not string.find(' ' .. marks .. ' ', ' ' .. mark .. ' ', 1, true)) then return nil end
  return reason
end

-- Conversations that wait for their account are due now: whatever they waited for is over, or may be.
local function wake_waiting(account)
  local waiting, woken = 'ns:parked_conversations:' .. account, 0
  for _, cid in ipairs(redis.call('SMEMBERS', waiting)) do
    local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
    if c[1] == 'held' and c[2] == 'parked' then
      schedule(cid, NOW)
      woken = woken + 1
    end
  end
  redis.call('DEL', waiting)
  return woken
end
local MOST_AHEAD = 30000000 -- microseconds; who waits for a place waits for less

-- A place in the line of an account's calls, as pace.lua explains: never more than `most` in any `span`.
local function take_place(key, most, span, longest, parking, mark)
  local reason = rests_for(redis.call('GET', parking), mark)
  if reason then return 0, 0, reason, math.max(redis.call('PTTL', parking), 0) end
  local now = clock[1] * 1000000 + clock[2]
  local before = tonumber(redis.call('LINDEX', key, -most) or '0')
  if before > now + MOST_AHEAD then -- nobody has stood in line for so long: the clock has gone back since
    redis.call('DEL', key)
    before = 0
  end
  local turn = math.max(before + span, now)
  local wait = turn - now
  if wait > longest * 1000 then return wait, 0, '', 0 end
  if redis.call('RPUSH', key, text(turn)) > most then redis.call('LPOP', key) end
  redis.call('PEXPIRE', key, math.ceil((wait + span) / 1000) + 1)
  return wait, 1, '', 0
end

-- All that a turn must know, as store/conversations.py reads it, and whether (and for whom) its account rests.
local function view(word, cid, lines, inbox)
  local parked = parking_of(cid)
  local why = redis.call('GET', parked)
  return {word, NOW, redis.call('HGETALL', at(cid)), inbox or redis.call('LRANGE', at(cid, 'inbox'), 0, -1),
    redis.call('HGETALL', at(cid, 'plan')), redis.call('LRANGE', at(cid, 'history'), -lines, -1),
    why or '', why and math.max(redis.call('PTTL', parked), 0) or 0, redis.call('LRANGE', at(cid, 'turns'), 0, -1)}
end

-- A turn that ended, for the customer's limits (bot/limits.py): `record` is how many are kept, then what the turn
-- answered. None is needed for longer than an hour.
local function remember_turn(cid, record)
  local most, burst = string.match(record, '^(%d+) (.*)$')
  redis.call('RPUSH', at(cid, 'turns'), text(NOW) .. ' ' .. burst)
  redis.call('LTRIM', at(cid, 'turns'), -tonumber(most), -1)
  redis.call('PEXPIRE', at(cid, 'turns'), 3600000)
end

local RETENTION = 180 * 86400000 -- after the last message has its outcome
local KEPT = {'history', 'seen', 'sent', 'maybe', 'told'}

-- Retention starts when nothing is open, and ends with the next word.
local function retain(cid)
  redis.call('PEXPIRE', at(cid), RETENTION)
  for _, part in ipairs(KEPT) do redis.call('PEXPIRE', at(cid, part), RETENTION) end
end

local function keep_for_good(cid)
  if redis.call('PERSIST', at(cid)) == 1 then
    for _, part in ipairs(KEPT) do redis.call('PERSIST', at(cid, part)) end
  end
end

local function rest(cid)
  redis.call('HSET', at(cid), 'state', 'rest')
  forget_seen(cid)
  retain(cid)
  -- What went wrong concerned messages that are closed now, however they were: the next one begins with a clean slate.
  redis.call('HDEL', at(cid), 'token', 'lease_until', 'hold_reason', 'first', 'deferred_until', 'failures', 'vanished',
    'account_missing_since', 'taken_back')
  redis.call('ZREM', 'ns:due', cid)
  redis.call('ZREM', 'ns:handed', cid)
end

-- Reasons to wait that are nobody's fault: what waits for them is not overdue (health.lua).
local DEFERRALS = {human = true, humans_first = true, off_duty = true}

-- Meta's messaging window, as in bot/messaging_window.py: the margin before its end, and when managers hear of it.
local WINDOW, MARGIN, WARNING = 86400000, 600000, 3600000

-- Waiting for people, or for an account to be mended, goes on while the window closes: the conversation is looked at
-- in time to tell the managers, once for each window, and again when nothing may be sent any more.
local function cut_to_window(cid, due, earliest)
  local c = redis.call('HMGET', at(cid), 'acted_at', 'window_told')
  if not c[1] then return due end
  -- A clock that may be ahead closes no window (store/server/clock_watch.py).
  local closes = number(c[1]) + WINDOW - MARGIN + number(redis.call('GET', 'ns:clock:ahead'))
  local look = c[2] == c[1] and closes or closes - WARNING
  return math.max(math.min(due, look), math.min(due, earliest))
end

-- A turn that gives its lease back has just looked: it names a later `earliest` than now, or what it decides and what is
-- written here would send it round and round where they differ.
local LOOK_PAUSE = 10000

local function hold(cid, due, reason, earliest)
  if DEFERRALS[reason] or reason == 'parked' or reason == 'account_missing' then
    due = cut_to_window(cid, due, earliest or NOW)
  end
  redis.call('HSET', at(cid), 'state', 'held', 'hold_reason', reason)
  if DEFERRALS[reason] then redis.call('HSET', at(cid), 'deferred_until', text(due)) end
  if reason == 'parked' then
    -- Found again when the account may send before its time (receive.lua, enforce; wake_parked.lua).
    local waiting = 'ns:parked_conversations:' .. account_of(cid)
    redis.call('SADD', waiting, cid)
    redis.call('PEXPIRE', waiting, 86400000)
  end
  redis.call('HDEL', at(cid), 'token', 'lease_until')
  redis.call('ZREM', 'ns:handed', cid)
  schedule(cid, due)
end

local function holds(cid, token)
  local c = redis.call('HMGET', at(cid), 'state', 'token')
  return c[1] == 'leased' and c[2] == token
end

-- A burst is over after `quiet` without a message, and nobody waits longer than `cap` (bot/debounce.py).
local function due_at(first, last, quiet, cap) return math.min(last + quiet, first + cap) end

-- What is still open goes on by its own times; a conversation without open messages rests.
local function settle_down(cid, quiet, cap)
  local first = redis.call('LINDEX', at(cid, 'inbox'), 0)
  if not first then rest(cid) return end
  local takeover = number(redis.call('HGET', at(cid), 'takeover_until'))
  if takeover > NOW then hold(cid, takeover, 'human') return end
  local _, first_recv = head(first)
  local _, last_recv = head(redis.call('LINDEX', at(cid, 'inbox'), -1))
  -- The clock may have gone back since.
  first_recv, last_recv = math.min(first_recv or NOW, NOW), math.min(last_recv or NOW, NOW)
  redis.call('HSET', at(cid), 'state', 'gathering', 'first', text(first_recv))
  redis.call('HDEL', at(cid), 'token', 'lease_until', 'hold_reason')
  redis.call('ZREM', 'ns:handed', cid)
  schedule(cid, due_at(first_recv, last_recv, quiet, cap))
end

-- Replaces the inbox (`entries`, where it was read already) by what `keep(key)` keeps and returns what it did not.
local function filter_inbox(cid, keep, entries)
  local gone, left = {}, {}
  for _, entry in ipairs(entries or redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local _, _, key = head(entry)
    if not key or keep(key) then left[#left + 1] = entry else gone[#gone + 1] = key end
  end
  if #gone > 0 then
    redis.call('DEL', at(cid, 'inbox'))
    for _, entry in ipairs(left) do redis.call('RPUSH', at(cid, 'inbox'), entry) end
  end
  return gone, #left
end

-- {} for one that cannot be read.
local function body_of(entry)
  local read, body = pcall(cjson.decode, string.match(entry, '^%d+ %d+ %S+ (.*)$') or '')
  return read and type(body) == 'table' and body or {}
end

-- As bot/conversation.py, OpenMessage.for_model.
local function words_of(notes, said)
  local lines = {}
  for _, line in ipairs(type(notes) == 'table' and notes or {}) do lines[#lines + 1] = tostring(line) end
  if type(said) == 'string' and string.find(said, '%S') then lines[#lines + 1] = said end
  return #lines > 0 and table.concat(lines, '\n') or '[message without text]'
end

local function keep_line(cid, line)
  redis.call('RPUSH', at(cid, 'history'), line)
  redis.call('LTRIM', at(cid, 'history'), -60, -1)
end

-- A customer's line carries its message's key, so that a deletion or a later edit finds it, and for the edit what stood
-- beside the words. One that was taken back leaves no line.
local function keep_words(cid, entry)
  local _, _, key = head(entry)
  local body = body_of(entry)
  if body['gone'] then return end
  local line = {role = 'customer', text = words_of(body['notes'], body['text']), at = number(body['at']), key = key}
  if type(body['notes']) == 'table' and #body['notes'] > 0 then line['notes'] = body['notes'] end
  line['edits'] = body['edits']
  keep_line(cid, cjson.encode(line))
end

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

local MOST_ALERTS = 2000 -- that wait for Telegram: a hundred minutes of what a group of managers takes
local LESS_URGENT, MORE_URGENT = -10 * 86400000, 10 * 86400000

local function forget_alert(id)
  redis.call('HDEL', 'ns:alerts', id)
  redis.call('ZREM', 'ns:alerts:due', id)
  redis.call('ZREM', 'ns:alerts:order', id)
end

-- An alert that no manager will read any more: the ledger and the metrics say so.
local function lose_alert(id, event)
  local known = redis.call('HGET', 'ns:alerts', id)
  forget_alert(id)
  redis.call('HINCRBY', 'ns:events', event, 1)
  note(known and cjson.decode(known)['conversation'] or '', '', event, id)
end

-- Where there is no room, the least urgent goes first: tasks, then customers, then what concerns the whole house; the
-- older before the newer.
local function make_room(cid, id)
  local urgency = cid == '' and MORE_URGENT or string.find(id, ':task_', 1, true) and LESS_URGENT or 0
  redis.call('ZADD', 'ns:alerts:order', NOW + urgency, id)
  if redis.call('ZCARD', 'ns:alerts:order') > MOST_ALERTS then
    lose_alert(redis.call('ZRANGE', 'ns:alerts:order', 0, 0)[1], 'alert_dropped')
  end
end

-- The durable alert outbox: an incident that is still open is counted up and updated, not raised again.
local function raise_alert(cid, id, body)
  local known = redis.call('HGET', 'ns:alerts', id)
  local due = NOW
  if known then
    -- One that Telegram has turned away keeps its wait, and a delivered one is not edited with every repetition.
    local score = tonumber(redis.call('ZSCORE', 'ns:alerts:due', id) or '0')
    local old, new = cjson.decode(known), cjson.decode(body)
    for _, field in ipairs({'message_id', 'first_at', 'delivered', 'tries'}) do new[field] = old[field] end
    new['count'] = (old['count'] or 1) + 1
    due = (old['tries'] or 0) > 0 and math.max(score, NOW) or (old['delivered'] and math.min(score, NOW + 5000) or NOW)
    body = cjson.encode(new)
  end
  redis.call('HSET', 'ns:alerts', id, body)
  redis.call('HINCRBY', 'ns:events', 'alert', 1)
  note(cid, '', 'alert', id)
  add_deadline('ns:alerts:due', id, due)
  make_room(cid, id)
end
