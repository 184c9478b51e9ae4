#!lua flags=allow-oom
-- include: rate_limit
-- One slot for a call to Meta in an account's name, shared by all workers: so many in any span of time.
-- ARGV: key of the account's slots, how many, the span (microseconds), longest wait (ms), key of the parking,
--       mark of the caller's token
-- Returns {microseconds to wait, 1 when the slot is taken (0: the wait is too long), why the account is parked or '',
-- milliseconds left of that}. A parked account takes no slot.
return {take_slot(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6])}
