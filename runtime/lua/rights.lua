#!lua flags=no-writes
-- Which commands this user may not run on what is ours. Nothing is run.
-- ARGV: commands
-- Returns those that are refused.
local refused = {}
for _, command in ipairs(ARGV) do
  -- Twice, since some commands take what comes first for a key and others the last for a number.
  if not redis.acl_check_cmd(command, 'ns:probe', 'ns:probe') then refused[#refused + 1] = command end
end
return refused
