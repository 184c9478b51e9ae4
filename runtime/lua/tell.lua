#!lua
-- One turn's telemetry: its record, the counters of the day and for good, and for a week the thoughts of failures.
-- ARGV: cid, record (JSON), most records, day, ms the day is kept, thoughts (JSON, '' for none), ms they are kept,
--       then field and amount of each counter
-- Returns the id of the record.

local cid, record, MOST, day, DAY_KEPT = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local id = redis.call('XADD', 'ns:telemetry', 'MAXLEN', '~', MOST, '*', 'c', cid, 'turn', record)
local days = 'ns:tel:' .. day
for i = 8, #ARGV, 2 do
  redis.call('HINCRBY', days, ARGV[i], ARGV[i + 1])
  if string.sub(ARGV[i], 1, 8) == 'attempt|' then redis.call('HINCRBY', 'ns:tel:all', ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', days, DAY_KEPT)
if ARGV[6] ~= '' then redis.call('SET', 'ns:c:' .. cid .. ':thoughts:' .. id, ARGV[6], 'PX', ARGV[7]) end
return id
