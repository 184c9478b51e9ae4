#!lua flags=allow-oom
-- include: conversation, view
-- What a turn that goes on must know: messages, plan and history as they are now.
-- ARGV: cid, token, history_lines. Returns a view ('reread') or {'lost'}.
local cid = ARGV[1]
if not holds(cid, ARGV[2]) then return {'lost'} end
return view('reread', cid, tonumber(ARGV[3]))
