-- include: keys, conversation, inbox, plan
-- What a customer's message was is not what it is: whatever was made from it, or tells of it, goes.

local function find(cid, key)
  for index, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local seq, recv, found = head(entry)
    if found == key then return index - 1, entry, seq, recv end
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

-- What the telemetry keeps of a customer's words: the reasoning of failed turns may quote any message of the conversation,
-- a record has the topics of the messages it answered (tell.lua).
local function forget_told(cid, key)
  for _, told in ipairs(redis.call('LRANGE', at(cid, 'told'), 0, -1)) do
    local record, keys = string.match(told, '^(%d+%-%d+)(.*)$')
    if record then redis.call('DEL', at(cid, 'thoughts:' .. record)) end
    if record and string.find(keys .. ' ', ' ' .. key .. ' ', 1, true) then
      -- Counted, so that it is not taken for one that the stream had no room for.
      redis.call('INCRBY', ns.telemetry_erased, redis.call('XDEL', ns.telemetry, record))
      redis.call('LREM', at(cid, 'told'), 0, told)
    end
  end
end

-- What a turn, or a plan, was made from is not what it was: the turn thinks again, a plan of which nothing has arrived
-- goes, and so does what was looked up for it.
local function revise(cid)
  increase(cid, 'rev')
  increase(cid, 'revised')
  redis.call('HDEL', at(cid), 'notebook')
  drop_stale_plan(cid)
end
