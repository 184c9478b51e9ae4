#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, alerts, hold
-- constants: ALIVE_MS
-- A worker that does not have the conversation's account gives the lease back, so that one that has it may come: the
-- configuration of a single process decides nothing. Told once for each conversation, under one alert.
-- ARGV: cid, token, closes_after_ms (0: never), soon_ms, later_ms, id of the alert, alert (JSON),
--       then id and body of the alert that the window closes ('' for none), and its last action (ms)
-- Returns 'held', 'lost', or 'missing' (the lease is kept) when no process has had the account for all that time.

local cid, token, CLOSES, SOON, LATER = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if not holds(cid, token) then return 'lost' end
local since = number(redis.call('HGET', at(cid), 'account_missing_since'))
if since == 0 then
  since = NOW
  redis.call('HSET', at(cid), 'account_missing_since', text(NOW))
  raise_alert(cid, ARGV[6], ARGV[7])
end
local known_at = number(redis.call('ZSCORE', ns.accounts, account_of(cid)))
if CLOSES > 0 and NOW - math.max(since, known_at) >= CLOSES then return 'missing' end
if ARGV[8] ~= '' then
  raise_alert(cid, ARGV[8], ARGV[9])
  redis.call('HSET', at(cid), 'window_told', ARGV[10])
end
note(cid, '', 'held', 'account_missing')
hold(cid, NOW + (NOW - known_at <= ALIVE_MS and SOON or LATER), 'account_missing', NOW + LOOK_PAUSE)
return 'held'
