"""Ends waits that take too long: `asyncio.timeout` of one fixed length, for very many waits at once.

A timer of its own for each POST costs as much as checking its signature; here one timer looks after them all: a wait
costs 2.0 us of CPU, with `asyncio.timeout` 6.5 us (benchmarks/by_hand.py).
"""

import asyncio
from types import TracebackType
from typing import Any, Self

_LOOKS = 20  # a wait may take this part of its length longer


class Patience:
    """`with patience.for_one():` raises `TimeoutError` when its body has not ended within `seconds` (or a little more).

    It belongs to the event loop of its first use.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waits: dict[Wait, None] = {}  # all are equally long, so the first one is the next to run out
        self._timer: asyncio.TimerHandle | None = None

    def for_one(self) -> "Wait":
        return Wait(self)

    def begin(self, wait: "Wait") -> None:
        loop = asyncio.get_running_loop()
        wait.ends_at = loop.time() + self._seconds
        self._waits[wait] = None
        if self._timer is None:
            self._timer = loop.call_later(self._seconds / _LOOKS, self._look, loop)

    def end(self, wait: "Wait") -> None:
        self._waits.pop(wait, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while (first := next(iter(self._waits), None)) is not None and first.ends_at <= now:
            del self._waits[first]
            first.run_out()
        self._timer = loop.call_later(self._seconds / _LOOKS, self._look, loop) if self._waits else None


class Wait:
    __slots__ = ("_cancelling", "_patience", "_ran_out", "_task", "ends_at")

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._ran_out = False
        self.ends_at = 0.0

    def __enter__(self) -> Self:
        task: asyncio.Task[Any] | None = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can wait with patience")
        self._task = task
        self._cancelling = task.cancelling()
        self._patience.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patience.end(self)
        # A cancelling from outside that came as well goes on as what it is.
        if self._ran_out and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def run_out(self) -> None:
        """End it now, whatever time it has left."""
        if not self._ran_out:
            self._ran_out = True
            self._task.cancel()
