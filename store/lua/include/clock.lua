-- The server's time, so that there is one clock for all leases and deadlines: NOW in milliseconds since the epoch,
-- DAY in days. The only place that asks for it.

local clock = redis.call('TIME')

local NOW = clock[1] * 1000 + math.floor(clock[2] / 1000)

local DAY = math.floor(NOW / 86400000)
