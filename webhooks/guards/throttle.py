"""Writes a log line that any client could cause only once in a while."""

from collections.abc import Callable, Hashable

_KEYS_LIMIT = 1000


class Throttle:
    """One pass for each key in `seconds`; a pass tells how many were held back before it."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last: dict[Hashable, float] = {}
        self._held_back: dict[Hashable, int] = {}

    def passes(self, key: Hashable) -> int | None:
        """None: stay silent. A number: go ahead; so many of the same were held back since the last one."""
        now = self._clock()
        last = self._last.get(key)
        if last is not None and now - last < self._seconds:
            self._held_back[key] = self._held_back.get(key, 0) + 1
            return None
        if len(self._last) >= _KEYS_LIMIT:
            self._last.clear()
            self._held_back.clear()
        self._last[key] = now
        return self._held_back.pop(key, 0)
