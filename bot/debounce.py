"""When is a burst over?

The rule that serves customers is `due_at` in `store/lua/include/schedule.lua`. This is what it is held against: a test
of random bursts asks both (tests/store/turns/test_any_life.py). Nothing else needs it.
"""


def due_at_ms(*, first_ms: int, last_ms: int, quiet_ms: int, cap_ms: int) -> int:
    """After `quiet_ms` without a message, but no later than `cap_ms` after the first one: the newest message owns the
    timer, and a customer who keeps typing does not wait for ever."""
    return min(last_ms + quiet_ms, first_ms + cap_ms)
