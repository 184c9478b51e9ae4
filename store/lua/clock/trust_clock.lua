#!lua flags=allow-oom
-- include: keys, clock, numbers
-- Meta's own times: it is at least as late as the newest of them. ARGV: most ms that are no doubt, then conversation ids
-- Returns by how much the clock may still be ahead.
local ahead = tonumber(redis.call('GET', ns.clock_ahead) or '0')
if ahead == 0 then return 0 end
for i = 2, #ARGV do
  local acted = tonumber(redis.call('HGET', at(ARGV[i]), 'acted_at') or '0')
  ahead = math.min(ahead, NOW - acted)
end
if ahead > tonumber(ARGV[1]) then redis.call('SET', ns.clock_ahead, text(ahead)) return ahead end
redis.call('DEL', ns.clock_ahead)
return 0
