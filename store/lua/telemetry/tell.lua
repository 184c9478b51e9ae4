#!lua
-- include: keys, retention
-- One turn's telemetry: its record, the counters of the day and for good, and for a week what the model thought in a
-- turn that failed.
-- ARGV: cid, record (JSON), keywords of what the customer wrote (JSON), most records, day, ms the day is kept,
--       thoughts (JSON, '' for none), ms they are kept, the revision the turn has read, keys of the messages it has read
--       (separated by spaces), then field and amount of each counter
-- Returns the id of the record.

local cid, record, keywords, MOST, day, DAY_KEPT = unpack(ARGV, 1, 6)
local thoughts, revised, keys = ARGV[7], ARGV[9], ARGV[10]
local MOST_TOLD = 200
-- Words that were changed or taken back while the turn thought are not kept.
if (redis.call('HGET', at(cid), 'revised') or '0') ~= revised then keywords, thoughts = '[]', '' end
record = '{"keywords":' .. keywords .. ',' .. string.sub(record, 2)
local id = redis.call('XADD', ns.telemetry, 'MAXLEN', '~', MOST, '*', 'c', cid, 'turn', record)
local days = ns.model_counts_of_day .. day
for i = 11, #ARGV, 2 do
  redis.call('HINCRBY', days, ARGV[i], ARGV[i + 1])
  if string.sub(ARGV[i], 1, 8) == 'attempt|' then redis.call('HINCRBY', ns.model_counts, ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', days, DAY_KEPT)
if thoughts ~= '' then redis.call('SET', at(cid, 'thoughts:' .. id), thoughts, 'PX', ARGV[8]) end
if thoughts ~= '' or keywords ~= '[]' then
  -- Found again when the customer takes a message back (receive/revision.lua, forget_told).
  redis.call('RPUSH', at(cid, 'told'), id .. ' ' .. keys)
  redis.call('LTRIM', at(cid, 'told'), -MOST_TOLD, -1)
  if redis.call('HGET', at(cid), 'state') == 'rest' then retain(cid) end
end
return id
