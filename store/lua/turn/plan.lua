#!lua flags=allow-oom
-- include: keys, clock, numbers, conversation, ledger, inbox, plan, taken_back, view
-- Write down what will be said and to which messages, unless there is news that the turn has not read.
-- ARGV: cid, token, rev, revised, despite ('': no news, 'newer': more messages, 'changed': also when those it was made
--       from are not what they were), plan_id, meta (JSON), how many turns had failed before, history_lines,
--       number of keys, keys..., number of texts, text and hash of each,
--       then number of a part and further fields of it (JSON): those past the texts are enclosures
-- Returns a view ('planned', 'newer', or 'arrived': an echo has proved a part of the plan that stands, which is not
-- replaced), {'nothing'} (every message was taken back) or {'lost'}.

local cid, token, rev, revised, despite, plan_id, meta, failures = unpack(ARGV, 1, 8)
local LINES = tonumber(ARGV[9])
if not holds(cid, token) then return {'lost'} end
local c = redis.call('HMGET', at(cid), 'rev', 'revised', 'taken_back')
if despite == '' and (c[1] or '') ~= rev then return view('newer', cid, LINES) end
if despite == 'newer' and (c[2] or '0') ~= revised then return view('newer', cid, LINES) end
for i = 0, parts_of(cid) - 1 do
  if redis.call('HGET', at(cid, 'plan'), i .. ':state') == 'sent' then return view('arrived', cid, LINES) end
end
if c[3] then drop_taken_back(cid) end
local key_count = tonumber(ARGV[10])
local open, keys = {}, {}
for _, entry in ipairs(redis.call('LRANGE', at(cid, 'inbox'), 0, -1)) do
  local _, _, key = head(entry)
  if key then open[key] = true end
end
for i = 11, 10 + key_count do if open[ARGV[i]] then keys[#keys + 1] = ARGV[i] end end
if #keys == 0 then return {'nothing'} end
forget_plan(cid)
local texts = tonumber(ARGV[11 + key_count])
local next_value = 12 + key_count
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
redis.call('HSET', at(cid, 'plan'), 'id', plan_id, 'n', texts, 'all', all, 'keys', table.concat(keys, ' '), 'meta', meta,
  'revised', despite == 'changed' and '' or revised, 'failures', failures, 'made_at', text(NOW))
for _, key in ipairs(keys) do note(cid, key, 'planned', texts .. ' part(s)') end
return view('planned', cid, LINES)
