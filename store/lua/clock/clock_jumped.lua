#!lua flags=allow-oom
-- include: keys, numbers, ledger, alerts
-- The clock has jumped, which every dispatcher sees: told once, and kept in mind as what it may be ahead of the true time.
-- ARGV: rule, by how much (ms; negative: back), alert (JSON). Returns 1 for who was first to say so.
local rule, by = ARGV[1], tonumber(ARGV[2])
local SAME_MS, WITHIN_MS = 15000, 30000
local told = redis.call('GET', ns.telling .. rule)
if told and math.abs(tonumber(told) - by) < SAME_MS then return 0 end
redis.call('SET', ns.telling .. rule, text(by), 'PX', WITHIN_MS)
local ahead = math.max(tonumber(redis.call('GET', ns.clock_ahead) or '0') + by, 0)
if ahead > 0 then redis.call('SET', ns.clock_ahead, text(ahead)) else redis.call('DEL', ns.clock_ahead) end
count_event(rule)
raise_alert('', 'system:' .. rule, ARGV[3])
return 1
