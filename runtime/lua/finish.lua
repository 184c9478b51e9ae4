#!lua flags=allow-oom
-- The end of a turn in one step: outcomes, history, alert, lease. It must work when memory is full.
-- ARGV: cid, token, outcome, why, quiet, cap, takeover_ms (0: none), history_max, fields (JSON object to set;
--       `turn` is a record for the limits),
--       alert id ('' for none), alert (JSON), number of keys, keys..., then history lines
-- Returns 'finished' or 'lost'.

local cid, token, outcome, why = unpack(ARGV, 1, 4)
local QUIET, CAP, TAKEOVER, HISTORY = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if not holds(cid, token) then return 'lost' end
local account = account_of(cid)
local key_count = tonumber(ARGV[12])
local closing = {}
for i = 13, 12 + key_count do closing[ARGV[i]] = true end
local gone = filter_inbox(cid, function(key) return not closing[key] end)
for _, key in ipairs(gone) do close(cid, account, key, outcome, why) end
for i = 13 + key_count, #ARGV do redis.call('RPUSH', at(cid, 'history'), ARGV[i]) end
redis.call('LTRIM', at(cid, 'history'), -HISTORY, -1)
forget_plan(cid)
redis.call('HDEL', at(cid), 'failures', 'vanished')
-- A human who has written since the reply went out is followed by a disclosure of its own.
local people_came = tonumber(redis.call('HGET', at(cid), 'takeover_until') or '0') > NOW
for field, value in pairs(cjson.decode(ARGV[9])) do
  if field == 'turn' then remember_turn(cid, value)
  elseif not (field == 'disclosed' and people_came) then redis.call('HSET', at(cid), field, value) end
end
if TAKEOVER > 0 then redis.call('HSET', at(cid), 'takeover_until', text(NOW + TAKEOVER)) end
if ARGV[10] ~= '' then raise_alert(cid, ARGV[10], ARGV[11]) end
settle_down(cid, QUIET, CAP)
return 'finished'
