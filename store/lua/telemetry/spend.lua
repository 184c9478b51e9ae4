#!lua flags=allow-oom
-- include: keys, clock, numbers
-- What a call to a model has cost: counted for the house's day and for the customer's, which ends with the UTC day.
-- ARGV: cid, US dollars, key of the day's sum, ms it is kept
-- Returns the sum of the day.

local cid, dollars = ARGV[1], ARGV[2]
local sum = redis.call('INCRBYFLOAT', ARGV[3], dollars)
redis.call('PEXPIRE', ARGV[3], ARGV[4])
local c = redis.call('HMGET', at(cid), 'customer', 'spent_day', 'spent')
if c[1] then -- else it was erased meanwhile, and stays so
  if c[2] == text(DAY) and tonumber(c[3]) then redis.call('HINCRBYFLOAT', at(cid), 'spent', dollars)
  else redis.call('HSET', at(cid), 'spent_day', text(DAY), 'spent', dollars) end
end
return sum
