#!lua
-- include: keys, clock
-- include: action, arrival, deletion, echo, edit, late_echo, message, noted, policy, read_event
-- include: thread_control, unread
-- One POST (or several that waited together) becomes inbox entries, deferrals and counts, in one round trip.
-- ARGV: quiet_ms, cap_ms, people (JSON: account -> [takeover_ms, auto_reply_ms], "" for all others), then the events.
-- Without an event it stores nothing, and proves that it could: /health/ready asks so. Returns NOW.
-- An event is its kind and the values of its fields (store/assembly/event_fields.py, read_event); the file of its kind says what
-- they are. All are text; `at` is Meta's time in milliseconds, `account` is made here: "channel id", as it is counted.

-- Events of a conversation that count once; each has cid, channel, account_id, customer_id, key and at.
local ONCE = {echo = echo, late_echo = late_echo, edit = edit, deletion = deletion, thread_control = thread_control}
local OTHERS = {message = message, action = action, unread = unread, policy = policy, noted = noted}

local i = 4
while ARGV[i] do
  local event, following = read_event(i)
  i = following
  if event.channel then event.account = event.channel .. ' ' .. event.account_id end
  local once = ONCE[event.kind]
  if not once then OTHERS[event.kind](event)
  elseif is_first_time(event) then
    introduce(event)
    once(event)
    keep_no_longer(event.cid)
  end
end
if #ARGV < 4 then redis.call('SET', ns.probe, '1', 'PX', 60000) end
return NOW
