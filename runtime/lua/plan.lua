#!lua flags=allow-oom
-- Write down what will be said and to which messages, unless there is news that the turn has not read.
-- ARGV: cid, token, rev, force, plan_id, meta (JSON), history_lines, number of keys, keys..., number of texts, text and
--       hash of each, then number of a part and further fields of it (JSON): those past the texts are enclosures
-- Returns a view ('planned' or 'newer'), {'nothing'} (every message was taken back) or {'lost'}.

local cid, token, rev, force, plan_id, meta = unpack(ARGV, 1, 6)
local LINES = tonumber(ARGV[7])
if not holds(cid, token) then return {'lost'} end
if force ~= '1' and redis.call('HGET', at(cid), 'rev') ~= rev then return view('newer', cid, LINES) end
local key_count = tonumber(ARGV[8])
local open, keys = {}, {}
for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
  local _, _, key = head(entry)
  open[key] = true
end
for i = 9, 8 + key_count do if open[ARGV[i]] then keys[#keys + 1] = ARGV[i] end end
if #keys == 0 then return {'nothing'} end
forget_plan(cid)
local texts = tonumber(ARGV[9 + key_count])
local next_value = 10 + key_count
for i = 0, texts - 1 do
  redis.call('HSET', at(cid, 'plan'), i .. ':text', ARGV[next_value], i .. ':hash', ARGV[next_value + 1], i .. ':state', 'planned')
  next_value = next_value + 2
end
local all = texts
for i = next_value, #ARGV, 2 do
  local part = tonumber(ARGV[i])
  for field, value in pairs(cjson.decode(ARGV[i + 1])) do redis.call('HSET', at(cid, 'plan'), part .. ':' .. field, value) end
  if part >= texts then
    redis.call('HSET', at(cid, 'plan'), part .. ':state', 'planned')
    all = part + 1
  end
end
redis.call('HSET', at(cid, 'plan'), 'id', plan_id, 'n', texts, 'all', all, 'keys', table.concat(keys, ' '), 'meta', meta)
for _, key in ipairs(keys) do note(cid, key, 'planned', texts .. ' part(s)') end
return view('planned', cid, LINES)
