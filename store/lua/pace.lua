#!lua flags=allow-oom
-- One place in the line of an account's calls, shared by all workers: so many in any span of time.
-- ARGV: key of the line, how many, the span (microseconds), longest wait (ms), key of the parking,
--       mark of the caller's token
-- Returns {microseconds to wait, 1 when the place is taken (0: the wait is too long), why the account is parked or '',
-- milliseconds left of that}. A parked account takes no place.
return {take_place(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6])}
