-- Numbers to text and back, without losing digits or failing on what is none.

-- %.0f, since Lua would write a large number as 1.79e+12.
local function text(number) return string.format('%.0f', number) end

-- What is stored may be damaged, or be another version's: a number that is none counts as 0.
local function number(value)
  local n = tonumber(value)
  if not n or n ~= n or n == math.huge or n == -math.huge then return 0 end
  return n
end
