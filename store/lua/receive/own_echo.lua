-- include: keys, clock, ledger, schedule, sent, plan
-- Is an echo of something that we have sent?

-- A template or a picture has an echo without words, which is like any other of its kind: it is ours while the fate of
-- ours is open, and once within this time after its plan is gone.
local BARE_ECHO_WITHIN = 60000

-- Words or a bare attachment that may have arrived before their plan went.
local function may_be_ours(cid, likeness)
  local doubted_at = likeness ~= '' and redis.call('ZSCORE', at(cid, 'maybe'), likeness)
  if not doubted_at then return false end
  if string.sub(likeness, 1, 1) ~= '@' then return true end
  redis.call('ZREM', at(cid, 'maybe'), likeness)
  return NOW - tonumber(doubted_at) <= BARE_ECHO_WITHIN
end

local function is_like(hash, alike, likeness)
  if likeness == '' then return false end
  return hash == likeness or string.find(' ' .. (alike or '') .. ' ', ' ' .. likeness .. ' ', 1, true) ~= nil
end

-- Sent by us? By message id, by our metadata, or by the text (or kind) of a part whose fate is not known yet.
local function is_ours(event)
  local cid, key, likeness = event.cid, event.key, event.likeness
  if redis.call('ZSCORE', at(cid, 'sent'), key) then return true end
  local plan = redis.call('HGET', at(cid, 'plan'), 'id')
  for i = 0, parts_of(cid) - 1 do
    local part = redis.call('HMGET', at(cid, 'plan'), i .. ':state', i .. ':hash', i .. ':code', i .. ':alike')
    local undecided = part[1] == 'sending' or part[1] == 'unknown' or (part[1] == 'failed' and part[3] == 'not_found')
    if undecided and (event.tag == plan .. ':' .. i or is_like(part[2], part[4], likeness)) then
      redis.call('HSET', at(cid, 'plan'), i .. ':state', 'sent', i .. ':key', key)
      remember_sent(cid, key)
      note(cid, '', 'sent', 'part ' .. i .. ', proved by its echo')
      -- The settling conversation need not wait for its next look-up.
      if part[1] == 'unknown' and redis.call('HGET', at(cid), 'hold_reason') == 'settling' then schedule(cid, NOW) end
      return true
    end
  end
  if may_be_ours(cid, likeness) then
    remember_sent(cid, key)
    note(cid, '', 'sent', 'proved by a late echo')
    return true
  end
  return event.is_ours == '1' or event.tag ~= ''
end
