#!lua flags=no-writes
-- include: keys
-- What the books of a conversation know of messages that were read back.
-- ARGV: cid, then for each message its keys as a customer's message, as a postback and as an echo, and its likeness
-- Returns for each "ours" (we have sent it, or may have), "echo" (known as sent from our side), "message" (known as the
-- customer's) or "".
local cid, answer = ARGV[1], {}
for i = 2, #ARGV, 4 do
  local as_message, as_postback, as_echo, likeness = unpack(ARGV, i, i + 3)
  local word = ''
  if redis.call('ZSCORE', at(cid, 'sent'), as_echo)
    or (likeness ~= '' and redis.call('ZSCORE', at(cid, 'maybe'), likeness)) then
    word = 'ours'
  elseif redis.call('ZSCORE', at(cid, 'seen'), as_echo) then
    word = 'echo'
  elseif redis.call('ZSCORE', at(cid, 'seen'), as_message) or redis.call('ZSCORE', at(cid, 'seen'), as_postback) then
    word = 'message'
  end
  answer[#answer + 1] = word
end
return answer
