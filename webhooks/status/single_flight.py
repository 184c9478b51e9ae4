"""One call at a time for all who ask; what it returned is given again for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from runtime.clock import monotonic

Seen = TypeVar("Seen")


class SingleFlight(Generic[Seen]):
    """`call` ends by itself and returns its answer; `fresh_seconds` of that is how long it is given again."""

    def __init__(
        self,
        call: Callable[[], Awaitable[Seen]],
        *,
        fresh_seconds: Callable[[Seen], float],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._call = call
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._seen: tuple[Seen, float] | None = None  # and until when it holds
        self._running: asyncio.Task[Seen] | None = None

    async def get(self) -> Seen:
        if self._seen is not None and self._clock() < self._seen[1]:
            return self._seen[0]
        if self._running is None:
            self._running = asyncio.create_task(self._call_once())
            self._running.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._running)  # a caller that is cancelled does not end it for the others

    async def _call_once(self) -> Seen:
        try:
            seen = await self._call()
            self._seen = seen, self._clock() + self._fresh_seconds(seen)
            return seen
        finally:
            self._running = None
