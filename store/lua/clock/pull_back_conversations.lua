#!lua flags=allow-oom
-- include: keys, clock, numbers, schedule, plan
-- The same for what conversations wait for, wherever it is written. No lease is taken from its turn: it ends
-- when a lease taken now would. What is held is looked at now, and that turn decides anew.
-- ARGV: lease_ms, cap_ms, takeover_ms, then conversation ids. Returns 1.
local LEASE, CAP, TAKEOVER = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function pull_back(cid, field, value, latest)
  if number(value) > latest then redis.call('HSET', at(cid), field, text(latest)) end
end

for i = 4, #ARGV do
  local cid = ARGV[i]
  local c = redis.call('HMGET', at(cid), 'state', 'lease_until', 'takeover_until', 'deferred_until')
  pull_back(cid, 'lease_until', c[2], NOW + LEASE)
  pull_back(cid, 'takeover_until', c[3], NOW + TAKEOVER)
  pull_back(cid, 'deferred_until', c[4], NOW)
  for part = 0, parts_of(cid) - 1 do
    local sent_at = redis.call('HGET', at(cid, 'plan'), part .. ':at')
    if number(sent_at) > NOW then redis.call('HSET', at(cid, 'plan'), part .. ':at', text(NOW)) end
  end
  local latest = NOW
  if c[1] == 'leased' then latest = NOW + LEASE elseif c[1] == 'gathering' then latest = NOW + CAP end
  local due = redis.call('ZSCORE', ns.due, cid)
  if due and tonumber(due) > latest then schedule(cid, latest) end
end
return 1
