#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, inbox, plan, taken_back, rest, view
-- constants: SETTLED
-- Take a conversation's lease, if it was handed out and no turn holds it, and read all that a turn needs.
-- ARGV: cid, token, lease_ms, history_lines
-- Returns a view ('claimed') or {reason}.

local cid, token, LEASE, LINES = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

-- Every line of the inbox is an open message, and every open message has a line, or it is made so: a line that cannot
-- be read is no message, and a message whose line is lost is one without words. Returns the lines.
local function mend_inbox()
  local entries, members = redis.call('LRANGE', at(cid, 'inbox'), 0, -1), {}
  for i, entry in ipairs(entries) do
    local _, _, key = head(entry)
    members[i] = cid .. ' ' .. (key or '')
  end
  if #members > 0 then
    local sound = true
    for _, score in ipairs(redis.call('ZMSCORE', ns.open, unpack(members))) do sound = sound and score end
    if sound then return entries end
  end
  local lines, lost = {}, {}
  for _, entry in ipairs(entries) do
    local _, _, key = head(entry)
    if key then lines[key] = entry end
  end
  redis.call('DEL', at(cid, 'inbox'))
  entries = {}
  local known = redis.call('ZRANGE', at(cid, 'seen'), 0, -1)
  for key in pairs(lines) do known[#known + 1] = key end
  for _, key in ipairs(known) do
    local received = redis.call('ZSCORE', ns.open, cid .. ' ' .. key)
    if received and not lost[key] then
      lost[key] = true
      local line = lines[key] or ('0 ' .. text(number(received)) .. ' ' .. key .. ' {"lost":true}')
      redis.call('RPUSH', at(cid, 'inbox'), line)
      entries[#entries + 1] = line
      if not lines[key] then note(cid, key, 'mended', 'its words are lost') end
    end
  end
  return entries
end

if redis.call('ZREM', ns.handed, cid) == 0 then return {'not_handed_out'} end
local c = redis.call('HMGET', at(cid), 'state', 'lease_until', 'taken_back')
local lease_until = number(c[2])
if c[1] == 'leased' and lease_until > NOW and lease_until <= NOW + 10 * LEASE then
  redis.call('ZADD', ns.due, lease_until, cid)
  return {'leased'}
end
local inbox, parts = mend_inbox(), parts_of(cid)
if #inbox == 0 and not (parts > 0 and something_arrived(cid)) then
  forget_plan(cid)
  rest(cid)
  return {'nothing'}
end
if c[1] == 'leased' then
  increase(cid, 'vanished')
  note(cid, '', 'vanished', 'the lease ran out')
end
-- The turn that was sending is gone: what was on its way may have arrived. So may what a newer version calls otherwise.
for i = 0, parts - 1 do
  local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
  if state and not SETTLED[state] then
    redis.call('HSET', at(cid, 'plan'), i .. ':state', 'unknown')
    note(cid, '', 'unknown', 'part ' .. i)
  end
end
if parts > 0 then drop_stale_plan(cid) end
if c[3] and drop_taken_back(cid) then
  inbox = redis.call('LRANGE', at(cid, 'inbox'), 0, -1)
  if #inbox == 0 then
    forget_plan(cid)
    rest(cid)
    return {'nothing'}
  end
end
redis.call('HSET', at(cid), 'state', 'leased', 'token', token, 'lease_until', text(NOW + LEASE))
redis.call('ZADD', ns.due, NOW + LEASE, cid)
note(cid, '', 'claimed')
return view('claimed', cid, LINES, inbox)
