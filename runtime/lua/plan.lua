#!lua flags=allow-oom
-- Write down what will be said and to which messages, unless there is news that the turn has not read.
-- ARGV: cid, token, rev, force, plan_id, meta (JSON), number of keys, keys..., then text and hash of each part
-- Returns 'planned', 'newer', 'nothing' (every message was taken back) or 'lost'.

local cid, token, rev, force, plan_id, meta = unpack(ARGV, 1, 6)
if not holds(cid, token) then return 'lost' end
if force ~= '1' and redis.call('HGET', at(cid), 'rev') ~= rev then return 'newer' end
local key_count = tonumber(ARGV[7])
local open, keys = {}, {}
for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
  local _, _, key = head(entry)
  open[key] = true
end
for i = 8, 7 + key_count do if open[ARGV[i]] then keys[#keys + 1] = ARGV[i] end end
if #keys == 0 then return 'nothing' end
local parts = 0
forget_plan(cid)
for i = 8 + key_count, #ARGV, 2 do
  redis.call('HSET', at(cid, 'plan'), parts .. ':text', ARGV[i], parts .. ':hash', ARGV[i + 1], parts .. ':state', 'planned')
  parts = parts + 1
end
redis.call('HSET', at(cid, 'plan'), 'id', plan_id, 'n', parts, 'keys', table.concat(keys, ' '), 'meta', meta)
for _, key in ipairs(keys) do note(cid, key, 'planned', parts .. ' part(s)') end
return 'planned'
