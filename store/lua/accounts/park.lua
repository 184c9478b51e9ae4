#!lua flags=allow-oom
-- include: parking
-- An account rests. ARGV: key of the parking, reason, mark of the token that was refused, '1' when it is the token's
-- fault and not the account's, ms, '1': only where this sender is not parked yet. Returns 1 when it was noted.
local MOST_MARKS = 4
local key, reason, mark, bound, MS, unless_parked = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1', tonumber(ARGV[5]), ARGV[6] == '1'
local known = redis.call('GET', key)
if unless_parked and rests_for(known, mark) then return 0 end
local value = reason
if bound then
  local others = string.match(known or '', '^%S+ ?(.*)$') or ''
  -- What holds for all senders is not made smaller: the token is refused again once it is over.
  if known and others == '' then return 0 end
  -- Tokens that were refused before stay refused: two bad ones must not free each other in turn.
  local marks = {mark}
  for other in string.gmatch(others, '%S+') do
    if other ~= mark and #marks < MOST_MARKS then marks[#marks + 1] = other end
  end
  value = reason .. ' ' .. table.concat(marks, ' ')
end
redis.call('SET', key, value, 'PX', MS)
return 1
