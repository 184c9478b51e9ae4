"""When is a burst over? The rule in Python; `store/lua/common.lua` holds the same, and a test the two together."""


def due_at_ms(*, first_ms: int, last_ms: int, quiet_ms: int, cap_ms: int) -> int:
    """After `quiet_ms` without a message, but no later than `cap_ms` after the first one: the newest message owns the
    timer, and a customer who keeps typing does not wait for ever."""
    return min(last_ms + quiet_ms, first_ms + cap_ms)
