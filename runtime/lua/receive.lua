#!lua
-- One POST (or several that waited together) becomes inbox entries, deferrals and counts, in one round trip.
-- ARGV: quiet, cap, takeover, flood_cap, then ten values an event:
--   op, cid, channel, account, customer, key, p1, p2, p3, payload
--   m  a customer's message   p1 = reason when no answer is due, payload = JSON
--   e  an echo                p1 = hash of its text, p2 = '1' when our app sent it, p3 = "plan:part" of its metadata,
--                             payload = the history line to keep when it is foreign
--   x  an edit                p1 = key of the original, payload = JSON string of the new text
--   d  a deletion             p1 = key of the original
--   n  noted                  p1 = kind
-- Returns {stored, duplicates, foreign echoes, own echoes}.

local QUIET, CAP, TAKEOVER, FLOOD = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local SEEN_HORIZON = 48 * 3600 * 1000 -- Meta repeats an event for up to 36 hours
local stored, duplicates, foreign, own = 0, 0, 0, 0

local function first_time(cid, key)
  if redis.call('ZSCORE', at(cid, 'seen'), key) then
    duplicates = duplicates + 1
    redis.call('HINCRBY', 'ns:events', 'duplicate', 1)
    return false
  end
  remember(cid, 'seen', key, SEEN_HORIZON, 5000)
  return true
end

local function introduce(cid, channel, account, customer)
  redis.call('HSETNX', at(cid), 'customer', customer)
  if redis.call('HSETNX', at(cid), 'account', account) == 1 then
    redis.call('HSET', at(cid), 'channel', channel, 'state', 'rest')
  end
end

local function message(cid, account, key, reason, payload)
  local seq = redis.call('HINCRBY', at(cid), 'seq', 1)
  count(account, 'received')
  note(cid, key, 'received')
  stored = stored + 1
  redis.call('ZADD', 'ns:open', NOW, cid .. ' ' .. key)
  if reason == '' and redis.call('LLEN', at(cid, 'inbox')) >= FLOOD then reason = 'flood' end
  if reason ~= '' then close(cid, account, key, 'silenced', reason) return end
  redis.call('HINCRBY', at(cid), 'rev', 1)
  redis.call('RPUSH', at(cid, 'inbox'), seq .. ' ' .. text(NOW) .. ' ' .. key .. ' ' .. payload)
  local c = redis.call('HMGET', at(cid), 'state', 'first', 'takeover_until')
  if c[1] == 'gathering' then
    -- Handed out already: the turn that comes takes this message along, the deadline is the dispatcher's.
    if not redis.call('ZSCORE', 'ns:handed', cid) then schedule(cid, due_at(tonumber(c[2]), NOW, QUIET, CAP)) end
  elseif c[1] == 'rest' then
    local takeover = tonumber(c[3] or '0')
    if takeover > NOW then
      hold(cid, takeover, 'human')
      note(cid, key, 'held', 'human')
    else
      redis.call('HSET', at(cid), 'state', 'gathering', 'first', text(NOW))
      schedule(cid, due_at(NOW, NOW, QUIET, CAP))
    end
  end
end

-- Sent by us? By message id, by our metadata, or by the text of a part whose fate is not known yet.
local function is_ours(cid, key, text_hash, app_is_ours, tag)
  if redis.call('ZSCORE', at(cid, 'sent'), key) then return true end
  local plan = redis.call('HMGET', at(cid, 'plan'), 'id', 'n')
  for i = 0, tonumber(plan[2] or '0') - 1 do
    local part = redis.call('HMGET', at(cid, 'plan'), i .. ':state', i .. ':hash')
    local undecided = part[1] == 'sending' or part[1] == 'unknown'
    if undecided and (tag == plan[1] .. ':' .. i or (text_hash ~= '' and part[2] == text_hash)) then
      redis.call('HSET', at(cid, 'plan'), i .. ':state', 'sent', i .. ':key', key)
      remember(cid, 'sent', key, 7 * 86400000, 200)
      note(cid, '', 'sent', 'part ' .. i .. ', proved by its echo')
      -- The settling conversation need not wait for its next look-up.
      if part[1] == 'unknown' and redis.call('HGET', at(cid), 'hold_reason') == 'settling' then schedule(cid, NOW) end
      return true
    end
  end
  return app_is_ours == '1' or tag ~= ''
end

local function human_wrote(cid, account, key, line)
  redis.call('RPUSH', at(cid, 'history'), line)
  redis.call('HSET', at(cid), 'takeover_until', text(NOW + TAKEOVER))
  note(cid, key, 'human_wrote')
  if redis.call('LLEN', at(cid, 'inbox')) == 0 then return end
  local c = redis.call('HMGET', at(cid), 'state', 'hold_reason')
  local people_first = c[2] == 'human' or c[2] == 'humans_first' or c[2] == 'off_duty'
  if c[1] == 'held' and people_first then
    -- Words that came while the messages waited for a human are the answer to them.
    local gone = filter_inbox(cid, function() return false end)
    for _, open_key in ipairs(gone) do close(cid, account, open_key, 'silenced', 'human_answered') end
    redis.call('HINCRBY', at(cid), 'rev', 1)
    rest(cid)
    return
  end
  local plan = redis.call('HMGET', at(cid, 'plan'), 'id', 'n')
  local arrived = false
  for i = 0, tonumber(plan[2] or '0') - 1 do
    local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
    if state == 'planned' or state == 'failed' then redis.call('HSET', at(cid, 'plan'), i .. ':state', 'dropped')
    else arrived = true end
  end
  if arrived then return end -- what is on its way is finished by its turn; what was not sent stays unsent
  redis.call('DEL', at(cid, 'plan'))
  hold(cid, NOW + TAKEOVER, 'human')
  note(cid, key, 'held', 'human')
end

local function find(cid, key)
  for index, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local seq, recv, found = head(entry)
    if found == key then return index - 1, entry, seq, recv end
  end
end

local function edit(cid, original, new_text)
  local index, entry, seq, recv = find(cid, original)
  if not index then return end
  local body = cjson.decode(string.match(entry, '^%d+ %d+ %S+ (.*)$'))
  body['text'] = cjson.decode('[' .. new_text .. ']')[1]
  redis.call('LSET', at(cid, 'inbox'), index, seq .. ' ' .. text(recv) .. ' ' .. original .. ' ' .. cjson.encode(body))
  redis.call('HINCRBY', at(cid), 'rev', 1)
  note(cid, original, 'edited')
end

local function delete(cid, account, original)
  -- Once a plan stands the reply is on its way, and the message ends with it.
  if redis.call('EXISTS', at(cid, 'plan')) == 1 then return end
  local gone, left = filter_inbox(cid, function(key) return key ~= original end)
  if #gone == 0 then return end
  close(cid, account, original, 'silenced', 'deleted')
  redis.call('HINCRBY', at(cid), 'rev', 1)
  if left == 0 and redis.call('HGET', at(cid), 'state') ~= 'leased' then rest(cid) end
end

for i = 5, #ARGV, 10 do
  local op, cid, channel, account_id, customer, key = unpack(ARGV, i, i + 5)
  local p1, p2, p3, payload = unpack(ARGV, i + 6, i + 9)
  local account = channel .. ' ' .. account_id
  if op == 'n' then
    redis.call('HINCRBY', 'ns:events', p1, 1)
  elseif first_time(cid, key) then
    introduce(cid, channel, account_id, customer)
    if op == 'm' then message(cid, account, key, p1, payload)
    elseif op == 'e' then
      if is_ours(cid, key, p1, p2, p3) then
        own = own + 1
        redis.call('HINCRBY', 'ns:events', 'own_echo', 1)
      else
        foreign = foreign + 1
        redis.call('HINCRBY', 'ns:events', 'foreign_echo', 1)
        human_wrote(cid, account, key, payload)
      end
    elseif op == 'x' then edit(cid, p1, payload) redis.call('HINCRBY', 'ns:events', 'edit', 1)
    elseif op == 'd' then delete(cid, account, p1) redis.call('HINCRBY', 'ns:events', 'deletion', 1)
    end
  end
end
return {stored, duplicates, foreign, own}
