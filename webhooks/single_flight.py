"""A look at the house that all who ask share: one at a time, and what it saw holds for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from runtime.clock import monotonic

Seen = TypeVar("Seen")


class SharedLook(Generic[Seen]):
    """`look` ends by itself and returns what to say; `fresh_seconds` of that is how long it is said again."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Seen]],
        *,
        fresh_seconds: Callable[[Seen], float],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._look = look
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._seen: tuple[Seen, float] | None = None  # and until when it holds
        self._looking: asyncio.Task[Seen] | None = None

    async def get(self) -> Seen:
        if self._seen is not None and self._clock() < self._seen[1]:
            return self._seen[0]
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_once())
            self._looking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._looking)  # whoever leaves takes the look from nobody else

    async def _look_once(self) -> Seen:
        try:
            seen = await self._look()
            self._seen = seen, self._clock() + self._fresh_seconds(seen)
            return seen
        finally:
            self._looking = None
