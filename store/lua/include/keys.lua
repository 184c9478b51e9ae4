-- The names of the keys: no other script spells one. What each is for in full, who writes it and how long it lives:
-- store/schema/key_table.py, which a test holds this list against.

local ns = {
  -- What is open, and when it is looked at.
  open = 'ns:open', -- "conversation key" of each open message, by when it came
  due = 'ns:due', -- conversations, by when they are looked at again
  handed = 'ns:handed', -- conversations that are handed out and not claimed yet, by when
  sleep = 'ns:sleep', -- the deadline that the dispatcher sleeps until
  wake = 'ns:wake', -- a word that wakes it

  -- The books.
  ledger = 'ns:ledger', -- stream: each step of each message
  count = 'ns:count', -- messages received, and their outcomes
  count_of_day = 'ns:count:', -- .. day: the same by account
  events = 'ns:events', -- how often what happened
  telemetry = 'ns:telemetry', -- stream: a record of each turn
  telemetry_erased = 'ns:telemetry:erased', -- how many of the records were erased
  model_counts_of_day = 'ns:tel:', -- .. day: counters of models and rules
  model_counts = 'ns:tel:all', -- attempts by verdict, rule and rung

  -- The outboxes.
  alerts = 'ns:alerts', -- id to body (JSON) of what waits for Telegram, or lingers after it
  alerts_due = 'ns:alerts:due', -- ids, by when they are tried
  alerts_order = 'ns:alerts:order', -- ids, the first to go where there is no room first
  comments = 'ns:comments', -- comments that get a private reply
  comments_due = 'ns:comments:due', -- ids, by when they are tried
  comments_seen = 'ns:comments:seen', -- ids of all that came
  unread = 'ns:unread', -- messages that a worker reads from Meta
  unread_due = 'ns:unread:due', -- their keys, by when they are tried
  early = 'ns:early', -- webhooks of accounts that are not known yet

  -- The accounts ("channel account" or "channel:account", as the key ends).
  accounts = 'ns:accounts', -- accounts, by when a process last said that it has them
  parked = 'ns:parked:', -- .. channel:account: why it rests, and the marks of refused tokens
  parked_conversations = 'ns:parked_conversations:', -- .. channel account: conversations that wait for that
  standby = 'ns:standby:', -- .. channel account: conversations that are heard on standby alone

  -- The house.
  alive = 'ns:alive', -- processes, by their last sign of life
  incidents = 'ns:incidents', -- rule to "since last": what is broken
  telling = 'ns:telling:', -- .. alert: who tells it now
  told = 'ns:told', -- what is told once
  clock_ahead = 'ns:clock:ahead', -- by how many milliseconds the clock may be ahead
  probe = 'ns:probe', -- a write that proves that writes are taken
}

-- A conversation: without a part the hash of its fields, else
--   inbox    its open messages (include/inbox.lua)      plan      what is being sent (include/plan.lua)
--   history  what was said, a line (JSON) each          turns     when turns ended lately, for the customer's limits
--   seen     keys of the events that came, by when      edits     edits that came before their message
--   sent     keys of what we have sent, by when         maybe     hashes of words that may have arrived, by when
--   told     telemetry that quotes the customer         thoughts:{record}, generations:{record}   of failed turns
local function at(cid, part) return 'ns:c:' .. cid .. (part and (':' .. part) or '') end
