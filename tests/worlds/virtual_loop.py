"""An event loop without a clock or a network of its own: whoever owns it says what time it is and what happens next.

Whenever all tasks wait, `idle` is asked to do one thing. So the order of everything that happens is decided in one
place, and two runs that decide alike are alike.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """`moment` is the time in seconds since it was made; it stands still until `idle` moves it."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        """`idle` gets the seconds until the next timer, None when there is none."""
        self.moment = 0.0
        super().__init__(_Idle(idle))

    def time(self) -> float:
        return self.moment

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """At once: a thread would have an order of its own."""
        done = self.create_future()
        done.set_result(func(*args))
        return done


class _Idle(selectors.SelectSelector):
    """Nothing is ever ready to be read; the loop asks because its tasks all wait."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._idle(timeout)
        return []
