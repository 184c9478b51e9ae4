"""Redis's time, which is what every deadline of a customer's counts in; the wall clock of this machine decides nothing.

An answer that names the server's time sets the clock, and a steady one carries it on until the next. So a machine
whose clock is an hour or a day off is no different from one whose clock is right.
"""

from collections.abc import Callable

from runtime import clock


class ServerClock:
    """One for each client. Until the server has said anything, this machine's clock has to do."""

    def __init__(
        self, *, monotonic: Callable[[], float] = clock.monotonic, before: Callable[[], int] = clock.now_ms
    ) -> None:
        self._monotonic = monotonic
        self._before = before
        self._told: tuple[int, float] | None = None

    def tells(self, now_ms: int) -> None:
        """An answer that has just come says what time it is there: milliseconds since the epoch."""
        self._told = (now_ms, self._monotonic())

    def now_ms(self) -> int:
        if self._told is None:
            return self._before()
        now_ms, told_at = self._told
        return now_ms + round((self._monotonic() - told_at) * 1000)
