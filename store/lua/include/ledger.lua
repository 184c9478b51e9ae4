-- include: keys, clock
-- The books: one line in the ledger for each step of a message, and what is counted.

local LEDGER_ENTRIES = 200000

local function note(cid, key, event, why)
  redis.call('XADD', ns.ledger, 'MAXLEN', '~', LEDGER_ENTRIES, '*', 'c', cid, 'm', key, 'e', event, 'w', why or '')
end

-- A day can be asked for until it is 400 days old. A count that is as large as its step is new, so that few calls set
-- the time to live.
local function count(account, what, by)
  local day, step = ns.count_of_day .. DAY, by or 1
  redis.call('HINCRBY', ns.count, what, step)
  if redis.call('HINCRBY', day, account .. ' ' .. what, step) == step then redis.call('PEXPIRE', day, 401 * 86400000) end
end

-- One message reaches its outcome: the only place where a message stops being open.
local function close(cid, account, key, outcome, why)
  if redis.call('ZREM', ns.open, cid .. ' ' .. key) == 1 then
    count(account, outcome)
    note(cid, key, outcome, why)
    return true
  end
  return false
end

-- How often something happened, for the metrics.
local function count_event(kind) redis.call('HINCRBY', ns.events, kind, 1) end
