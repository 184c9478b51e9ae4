-- include: keys, numbers, ledger, sent
-- constants: NOT_SENT
-- The parts of a plan and what became of them, and the ways in which a plan goes.

local MOST_PARTS = 100 -- far more than any reply has: a damaged number must not make a script run for ever

-- The messages of a plan, its enclosures included: `n` counts the words alone.
local function parts_of(cid)
  local plan = redis.call('HMGET', at(cid, 'plan'), 'n', 'all')
  if not plan[1] and not plan[2] then return 0 end
  local parts = math.min(math.max(number(plan[1]), number(plan[2]), 0), MOST_PARTS)
  if parts < 1 then
    while parts < MOST_PARTS and redis.call('HEXISTS', at(cid, 'plan'), parts .. ':state') == 1 do parts = parts + 1 end
  end
  return parts
end

-- Whether the customer may have seen a part of the plan; a state that this version does not know may mean that, too.
local function something_arrived(cid)
  for i = 0, parts_of(cid) - 1 do
    local state = redis.call('HGET', at(cid, 'plan'), i .. ':state')
    if state and not NOT_SENT[state] then return true end
  end
  return false
end

local function is_in_plan(cid, key)
  return string.find(' ' .. (redis.call('HGET', at(cid, 'plan'), 'keys') or '') .. ' ', ' ' .. key .. ' ', 1, true) ~= nil
end

-- The only way in which a plan goes.
local function forget_plan(cid)
  for i = 0, parts_of(cid) - 1 do
    local part = redis.call('HMGET', at(cid, 'plan'), i .. ':state', i .. ':hash', i .. ':alike')
    if part[1] == 'sending' or part[1] == 'unknown' then
      if part[2] and part[2] ~= '' then remember_doubtful(cid, part[2]) end
      for alike in string.gmatch(part[3] or '', '%S+') do remember_doubtful(cid, alike) end
    end
  end
  redis.call('DEL', at(cid, 'plan'))
end

-- A plan is bound to the words it was made from (`revised` counts each time a customer changes some or takes some back):
-- when they are not what they were it goes, unless something of it has arrived. Fixed lines are bound to none.
local function drop_stale_plan(cid)
  local made_from = redis.call('HGET', at(cid, 'plan'), 'revised')
  if not made_from or made_from == '' or made_from == (redis.call('HGET', at(cid), 'revised') or '0') then return false end
  if something_arrived(cid) then return false end
  forget_plan(cid)
  note(cid, '', 'dropped', 'the words it was made from are not what they were')
  return true
end
