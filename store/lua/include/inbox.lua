-- include: keys
-- The open messages of a conversation: entries "seq recv key {json}" in the order in which they came.

-- An inbox entry is "seq recv key {json}": the head is read here without decoding the JSON; nothing of a damaged one.
local function head(entry)
  local seq, recv, key = string.match(entry, '^(%d+) (%d+) (%S+) ')
  return tonumber(seq), tonumber(recv), key
end

-- {} for one that cannot be read.
local function body_of(entry)
  local read, body = pcall(cjson.decode, string.match(entry, '^%d+ %d+ %S+ (.*)$') or '')
  return read and type(body) == 'table' and body or {}
end

-- Replaces the inbox (`entries`, where it was read already) by what `keep(key)` keeps and returns what it did not.
local function filter_inbox(cid, keep, entries)
  local gone, left = {}, {}
  for _, entry in ipairs(entries or redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
    local _, _, key = head(entry)
    if not key or keep(key) then left[#left + 1] = entry else gone[#gone + 1] = key end
  end
  if #gone > 0 then
    redis.call('DEL', at(cid, 'inbox'))
    for _, entry in ipairs(left) do redis.call('RPUSH', at(cid, 'inbox'), entry) end
  end
  return gone, #left
end
