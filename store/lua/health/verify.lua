#!lua flags=no-writes
-- include: keys, inbox
-- Do inbox, open messages and schedule agree? Asked again for those that looked wrong, all of it at one moment.
-- ARGV: members of ns:open ("cid key"), or "cid" alone for the conversation as a whole
-- Returns triples {cid, key or '', fault}.
local faults = {}
local function fault(cid, key, what)
  faults[#faults + 1] = cid
  faults[#faults + 1] = key
  faults[#faults + 1] = what
end
local inboxes = {}
local function inbox(cid)
  if not inboxes[cid] then
    local keys, n = {}, 0
    for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
      local _, _, key = head(entry)
      if key then keys[key] = true end
      n = n + 1
    end
    inboxes[cid] = {keys = keys, n = n}
  end
  return inboxes[cid]
end
for _, member in ipairs(ARGV) do
  local cid, key = string.match(member, '^(%S+) ?(%S*)$')
  if key ~= '' then
    if redis.call('ZSCORE', ns.open, member) and not inbox(cid).keys[key] then fault(cid, key, 'not_in_inbox') end
  else
    for found in pairs(inbox(cid).keys) do
      if not redis.call('ZSCORE', ns.open, cid .. ' ' .. found) then fault(cid, found, 'not_open') end
    end
    local due = redis.call('ZSCORE', ns.due, cid)
    local waits = inbox(cid).n > 0 or redis.call('EXISTS', at(cid, 'plan')) == 1
    if waits and not due then fault(cid, '', 'not_due') end
  end
end
return faults
