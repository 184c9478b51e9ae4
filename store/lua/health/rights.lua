#!lua flags=no-writes
-- include: keys
-- Which commands this user may not run on what is ours. Nothing is run.
-- ARGV: commands, with their subcommand where they have one
-- Returns those that are refused.
local refused = {}
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word end
  -- Twice, since some commands take what comes last for a number.
  words[#words + 1] = ns.probe words[#words + 1] = ns.probe
  if not redis.acl_check_cmd(unpack(words)) then refused[#refused + 1] = command end
end
return refused
