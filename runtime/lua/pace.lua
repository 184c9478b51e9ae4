#!lua flags=allow-oom
-- One place in the line of an account's calls, shared by all workers: so many a second, a few of them at once.
-- ARGV: key of the line, microseconds from call to call, how many at once, longest wait (ms), key of the parking
-- Returns {microseconds to wait, 1 when the place is taken (0: the wait is too long), why the account is parked or '',
-- milliseconds left of that}. A parked account takes no place.
local key, INTERVAL, BURST, LONGEST, parking = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local reason = redis.call('GET', parking)
if reason then return {0, 0, reason, math.max(redis.call('PTTL', parking), 0)} end
local now = clock[1] * 1000000 + clock[2]
local turn = math.max(tonumber(redis.call('GET', key) or '0'), now)
local wait = math.max(turn - (BURST - 1) * INTERVAL - now, 0)
if wait > LONGEST * 1000 then return {wait, 0, '', 0} end
redis.call('SET', key, text(turn + INTERVAL), 'PX', math.ceil((turn + INTERVAL - now) / 1000) + 1)
return {wait, 1, '', 0}
