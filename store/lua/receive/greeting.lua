-- include: keys, numbers, ledger
-- Greetings that Meta sends for an ad: our account's words, and no human's.

-- The greeting of an ad comes as an echo, too, before the first words that the tap on the ad sends. Meta documents no
-- such echo; a human who writes first is answered later than that.
local GREETING_WITHIN = 5000

local function is_just_before(echo_at, words_at)
  return echo_at and words_at and words_at > echo_at and words_at - echo_at <= GREETING_WITHIN
end

-- A customer's first words, when our account had written before. True when that was no human, and holds nothing up.
local function was_greeted(cid, key, opened_at, when)
  redis.call('HDEL', at(cid), 'opened_at')
  if not is_just_before(number(opened_at), tonumber(when)) then return false end
  redis.call('HDEL', at(cid), 'takeover_until')
  count_event('automatic_greeting')
  note(cid, key, 'automatic_reply', 'a greeting before the first words')
  return true
end

-- Before the first words of all, and known only after them (was_greeted sees the usual order): a card or another thing
-- without words, as an ad's greeting has been seen. A human's words are late more often than they are first.
local function is_greeting(cid, likeness, when)
  if likeness ~= '' and string.sub(likeness, 1, 1) ~= '@' then return false end
  return is_just_before(tonumber(when), tonumber(redis.call('HGET', at(cid), 'began_at') or nil))
end
