#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, schedule, inbox, history, plan, taken_back, alerts
-- include: rest, hold
-- constants: TELLS_CUSTOMER
-- The end of a turn in one step: outcomes, history, alert, lease. It must work when memory is full.
-- ARGV: cid, token, outcome, why, quiet, cap, takeover_ms (0: none), history_max, fields (JSON object to set;
--       `turn` is a record for the limits), alert id ('' for none), alert (JSON), the revision the turn has read,
--       number of keys, keys...,
--       then of each history line: the number of the part that was sent, "c" for a customer's, or "", and the line
-- Returns 'finished', 'lost', or what the books refuse and nothing is written of: 'untold' (the customer would count as
-- told, but of no part is it known that it arrived) and 'told' (they would count as not told, but a part has arrived).

local cid, token, outcome, why = unpack(ARGV, 1, 4)
local QUIET, CAP, TAKEOVER, HISTORY = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
-- A turn that ended, for the customer's limits (bot/limits.py): `record` is how many are kept, then what the turn
-- answered. None is needed for longer than an hour.
local function remember_turn(cid, record)
  local most, burst = string.match(record, '^(%d+) (.*)$')
  redis.call('RPUSH', at(cid, 'turns'), text(NOW) .. ' ' .. burst)
  redis.call('LTRIM', at(cid, 'turns'), -tonumber(most), -1)
  redis.call('PEXPIRE', at(cid, 'turns'), 3600000)
end

-- What is still open goes on by its own times; a conversation without open messages rests.
local function settle_down(cid)
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
  redis.call('ZREM', ns.handed, cid)
  schedule(cid, due_at(first_recv, last_recv, QUIET, CAP))
end

if not holds(cid, token) then return 'lost' end
local c = redis.call('HMGET', at(cid), 'channel', 'account', 'revised', 'taken_back', 'takeover_until')
local account = (c[1] or '?') .. ' ' .. (c[2] or '?')
local key_count = tonumber(ARGV[13])
local closing = {}
for i = 14, 13 + key_count do closing[ARGV[i]] = true end
local inbox = redis.call('LRANGE', at(cid, 'inbox'), 0, -1)

-- The only place where it is decided whether a message may count as told.
if key_count > 0 then
  local told, covers = false, false
  for i = 0, parts_of(cid) - 1 do
    told = told or redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sent'
  end
  local covered = told and ' ' .. (redis.call('HGET', at(cid, 'plan'), 'keys') or '') .. ' ' or ''
  for _, entry in ipairs(inbox) do
    local _, _, key = head(entry)
    if key and closing[key] then
      local is_covered = string.find(covered, ' ' .. key .. ' ', 1, true) ~= nil
      if TELLS_CUSTOMER[outcome] and not is_covered then return 'untold' end
      covers = covers or is_covered
    end
  end
  if covers and not TELLS_CUSTOMER[outcome] then return 'told' end
end

-- Of words that were changed or taken back since the turn has read them, what is true now is kept.
local revised = (c[3] or '0') ~= ARGV[12]
if revised then
  for _, entry in ipairs(inbox) do
    local _, _, key = head(entry)
    if key and closing[key] then keep_words(cid, entry) end
  end
end
local gone = filter_inbox(cid, function(key) return not closing[key] end, inbox)
for _, key in ipairs(gone) do close(cid, account, key, outcome, why) end
for i = 14 + key_count, #ARGV, 2 do
  local part, line = ARGV[i], ARGV[i + 1]
  local sent_as = tonumber(part) and redis.call('HGET', at(cid, 'plan'), part .. ':key')
  if sent_as and sent_as ~= '' then line = '{"key":' .. cjson.encode(sent_as) .. ',' .. string.sub(line, 2) end
  if part ~= 'c' or not revised then redis.call('RPUSH', at(cid, 'history'), line) end
end
redis.call('LTRIM', at(cid, 'history'), -HISTORY, -1)
forget_plan(cid)
if c[4] then drop_taken_back(cid) end
redis.call('HDEL', at(cid), 'failures', 'vanished', 'account_missing_since')
-- A human who has written since the reply went out is followed by a disclosure of its own.
local people_came = number(c[5]) > NOW
for field, value in pairs(cjson.decode(ARGV[9])) do
  if field == 'notebook' and revised then value = '' end
  if field == 'turn' then remember_turn(cid, value)
  elseif not (field == 'disclosed' and people_came) then redis.call('HSET', at(cid), field, value) end
end
if TAKEOVER > 0 then redis.call('HSET', at(cid), 'takeover_until', text(NOW + TAKEOVER)) end
if ARGV[10] ~= '' then raise_alert(cid, ARGV[10], ARGV[11]) end
settle_down(cid)
return 'finished'
