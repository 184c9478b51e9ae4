-- What the settings of the installation say of debounce and people, as receive.lua is told of it.

local QUIET, CAP = tonumber(ARGV[1]), tonumber(ARGV[2])
local people

-- How long a human's words keep the bot out, and within what time an echo is Meta's own automatic reply (both in ms).
local function people_of(account)
  people = people or cjson.decode(ARGV[3])
  return unpack(people[account] or people[''])
end
