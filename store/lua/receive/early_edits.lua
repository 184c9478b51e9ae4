-- include: keys, numbers
-- Edits that come before their messages.

local function edited(payload, edits, new_text)
  local read, body = pcall(cjson.decode, payload)
  if not read or type(body) ~= 'table' then body = {lost = true} end
  if number(body['edits']) > edits or body['gone'] then return payload end -- a later one has come before it
  body['text'] = cjson.decode('[' .. new_text .. ']')[1]
  body['edits'] = edits
  return cjson.encode(body)
end

-- An edit may overtake its message: it is kept for a while, and makes the message what it is now.
local MOST_EARLY_EDITS, EARLY_EDIT = 50, 48 * 3600000

local function keep_early_edit(cid, key, edits, new_text)
  local early = at(cid, 'edits')
  local known = redis.call('HGET', early, key)
  if known and number(string.match(known, '^%d+')) > edits then return end
  if not known and redis.call('HLEN', early) >= MOST_EARLY_EDITS then return end
  redis.call('HSET', early, key, edits .. ' ' .. new_text)
  redis.call('PEXPIRE', early, EARLY_EDIT, 'NX')
end

-- The message as an early edit has made it, or nil. Nothing may fail once a message has begun to be stored, so this is
-- asked before; an edit that cannot be read is none.
local function by_early_edit(cid, key, payload)
  local early = redis.call('HGET', at(cid, 'edits'), key)
  if not early then return end
  local edits, new_text = string.match(early, '^(%d+) (.*)$')
  local read, new_payload = pcall(edited, payload, number(edits), new_text)
  return read and new_payload or nil
end
