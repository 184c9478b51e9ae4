#!lua flags=allow-oom
-- include: keys, conversation, ledger, inbox, plan, alerts, rest
-- The end of a conversation that no turn comes to the end of: by the keys alone, nothing of what is stored is read.
-- Its fields go, so that the next message begins with sound ones; that the customer has opted out stays, and so
-- does since when its keys are not all known (forget_seen).
-- ARGV: cid, token, why, id of the alert, alert (JSON). Returns how many messages were closed, or -1 for a lost lease.

local cid, token, why = ARGV[1], ARGV[2], ARGV[3]
if not holds(cid, token) then return -1 end
local account, told, closed = account_of(cid), false, 0
for i = 0, parts_of(cid) - 1 do
  told = told or redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sent'
end
local meta = redis.call('HGET', at(cid, 'plan'), 'meta') or ''
local spoken = string.find(meta, '"outcome":"handed_over"', 1, true) and 'handed_over' or 'answered'

local function finish(key)
  local is_told = told and is_in_plan(cid, key)
  if close(cid, account, key, is_told and spoken or 'undeliverable', is_told and ('cut: ' .. why) or why) then
    closed = closed + 1
  end
end

for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
  local _, _, key = head(entry)
  if key then finish(key) end
end
for _, key in ipairs(redis.call('ZRANGE', at(cid, 'seen'), 0, -1)) do finish(key) end
redis.call('DEL', at(cid, 'inbox'))
forget_plan(cid)
raise_alert(cid, ARGV[4], ARGV[5])
for _, field in ipairs(redis.call('HKEYS', at(cid))) do
  if field ~= 'opted_out' and field ~= 'forgotten_at' then redis.call('HDEL', at(cid), field) end
end
rest(cid)
return closed
