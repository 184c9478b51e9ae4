-- include: keys, numbers, inbox
-- constants: HISTORY_LINES, NO_WORDS
-- What was said in a conversation, one line (JSON) for each message of either side.

-- As bot/conversation.py, OpenMessage.for_model.
local function words_of(notes, said)
  local lines = {}
  for _, line in ipairs(type(notes) == 'table' and notes or {}) do lines[#lines + 1] = tostring(line) end
  if type(said) == 'string' and string.find(said, '%S') then lines[#lines + 1] = said end
  return #lines > 0 and table.concat(lines, '\n') or NO_WORDS
end

local function keep_line(cid, line)
  redis.call('RPUSH', at(cid, 'history'), line)
  redis.call('LTRIM', at(cid, 'history'), -HISTORY_LINES, -1)
end

-- A customer's line carries its message's key, so that a deletion or a later edit finds it, and for the edit what stood
-- beside the words. One that was taken back leaves no line.
local function keep_words(cid, entry)
  local _, _, key = head(entry)
  local body = body_of(entry)
  if body['gone'] then return end
  local line = {role = 'customer', text = words_of(body['notes'], body['text']), at = number(body['at']), key = key}
  if type(body['notes']) == 'table' and #body['notes'] > 0 then line['notes'] = body['notes'] end
  line['edits'] = body['edits']
  keep_line(cid, cjson.encode(line))
end
