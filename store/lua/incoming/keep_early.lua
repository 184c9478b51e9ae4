#!lua
-- include: keys
-- Events that came before it is known whose they are. ARGV: ms they are kept, how many at most, then the records.
-- Returns how many had to go to make room.
local MOST = tonumber(ARGV[2])
local held = 0
for i = 3, #ARGV do held = redis.call('RPUSH', ns.early, ARGV[i]) end
if held > MOST then redis.call('LTRIM', ns.early, -MOST, -1) end
redis.call('PEXPIRE', ns.early, ARGV[1])
return math.max(held - MOST, 0)
