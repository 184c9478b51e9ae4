#!lua flags=allow-oom
-- include: alerts
-- An incident that comes with no other change. Returns 1.
-- ARGV: cid ('' when it concerns no conversation), id, body (JSON)
raise_alert(ARGV[1], ARGV[2], ARGV[3])
return 1
