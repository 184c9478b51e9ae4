-- include: keys, numbers
-- The deadlines: when something is looked at again, and the dispatcher's alarm clock.

local sleeps_until -- read once a call

-- The dispatcher sleeps until the earliest deadline it has seen; an earlier one wakes it.
local function add_deadline(set, member, due)
  redis.call('ZADD', set, due, member)
  sleeps_until = sleeps_until or tonumber(redis.call('GET', ns.sleep) or '0')
  if due < sleeps_until then
    sleeps_until = due
    redis.call('SET', ns.sleep, text(due))
    if redis.call('LLEN', ns.wake) == 0 then redis.call('RPUSH', ns.wake, '1') end
  end
end

local function schedule(cid, due) add_deadline(ns.due, cid, due) end

-- A burst is over after `quiet` without a message, and no customer waits longer than `cap`, counted from the
-- first. A property test of random bursts holds it (tests/store/turns/test_any_life.py).
local function due_at(first, last, quiet, cap) return math.min(last + quiet, first + cap) end
