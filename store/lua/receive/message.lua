-- include: keys, clock, numbers, ledger, schedule, seen, retention, hold
-- include: early_edits, greeting, settings, standby, unread
-- constants: FLOOD_CAP
-- A customer's message: it is open from now on, or ends as `silenced` at once.
-- event: cid, channel, account_id, customer_id, key, at, reason (why no answer is due, else ''), deletion_key (under which
--        its deletion would be known), found (on what occasion it was read back, '' when Meta sent it), body (JSON)

-- A conversation of very many messages remembers only the newest: what is older than one that had to go may be one of
-- those. They look the same; so much in so little time is a flood in any case.
local LATE = 60000

local function may_be_forgotten(forgotten_at, when)
  return forgotten_at and NOW - when >= LATE and when <= number(forgotten_at)
end

local STATES = {rest = true, gathering = true, held = true, leased = true}

-- Every customer's words pass here, so it asks the server once for all it must know and writes the fields once.
local function message(event)
  local cid, account, key, when, reason, found = event.cid, event.account, event.key, event.at, event.reason, event.found
  if found == '' then need_not_read(key) end
  local copy = 'standby ' .. key
  local seen = redis.call('ZMSCORE', at(cid, 'seen'), key, copy, event.deletion_key)
  local reopened = seen[2] and reason ~= 'standby' and found == ''
  if seen[1] and not reopened then return count_event('duplicate') end
  local c = redis.call('HMGET', at(cid), 'account', 'state', 'first', 'takeover_until', 'acted_at', 'said_at', 'seq', 'rev', 'opened_at',
    'forgotten_at', 'channel', 'customer')
  if reason == '' and found == '' and may_be_forgotten(c[10], tonumber(when)) then reason = 'flood' end
  local state, seq = STATES[c[2]] and c[2] or 'rest', text(number(c[7]) + 1)
  local fields = {'seq', seq}
  local new_body = c[1] and reason == '' and by_early_edit(cid, key, event.body)
  local function set(field, value) fields[#fields + 1] = field; fields[#fields + 1] = value end
  if c[1] ~= event.account_id or c[11] ~= event.channel or c[12] ~= event.customer_id then
    set('customer', event.customer_id) set('account', event.account_id) set('channel', event.channel) set('state', state)
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
  if new_body then
    redis.call('HDEL', at(cid, 'edits'), key)
    note(cid, key, 'edited')
  end
  if found ~= '' then count_event('found_by_' .. found) end
  if reason ~= 'test_event' and reason ~= 'self' then
    if tonumber(when) > number(c[5]) then set('acted_at', when) end
    if tonumber(when) > number(c[6]) then set('said_at', when) end
  end
  local takeover = number(c[4])
  if reason == 'standby' then heard_on_standby(event, takeover)
  elseif reason == '' and found == '' then heard_directly(account) end
  if not c[6] and reason == '' then
    local greeted = c[9] and was_greeted(cid, key, c[9], when)
    if greeted then takeover = 0 end
    if greeted or not c[9] then set('began_at', when) end
  end
  redis.call('ZADD', ns.open, NOW, cid .. ' ' .. key)
  if reason == '' and seen[3] then reason = 'deleted' end
  if reason == '' then
    local waiting = redis.call('RPUSH', at(cid, 'inbox'), seq .. ' ' .. text(NOW) .. ' ' .. key .. ' ' .. (new_body or event.body))
    if waiting > FLOOD_CAP then
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
  elseif state == 'gathering' and not redis.call('ZSCORE', ns.handed, cid) then
    -- Handed out already, it would be taken along by the turn that comes: the deadline is the dispatcher's then.
    schedule(cid, due_at(number(c[3]), NOW, QUIET, CAP))
  elseif (state == 'held' or state == 'leased') and not redis.call('ZSCORE', ns.due, cid) then
    schedule(cid, NOW) -- it says that it waits, and no turn would come for it
  end
end
