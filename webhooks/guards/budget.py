"""Bounds in total what strangers may have done for them: CPU that refills as time goes by."""

from collections.abc import Callable

from runtime.clock import monotonic

SHARE = 0.05
"""Of one core, in the long run."""

MOST_SECONDS = 0.5
"""What gathers while nothing is spent; and so much may be owed, or one long attack would be paid for ever."""


class Budget:
    """Seconds of CPU. A check that is let through may cost more than there is left: the next ones wait for it."""

    def __init__(
        self, *, share: float = SHARE, most_seconds: float = MOST_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._share = share
        self._most = most_seconds
        self._clock = clock
        self._left = most_seconds
        self._counted_at = clock()
        self.spent_seconds = 0.0

    @property
    def has_some(self) -> bool:
        now = self._clock()
        self._left = min(self._left + (now - self._counted_at) * self._share, self._most)
        self._counted_at = now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        self.spent_seconds += seconds
        self._left = max(self._left - seconds, -self._most)
