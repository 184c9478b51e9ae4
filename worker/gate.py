"""Lets turns run side by side, and a turn that has killed its worker again and again run alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TurnGate:
    """A turn that runs alone waits for the others to end, and new ones wait for it."""

    def __init__(self) -> None:
        self._running = 0
        self._alone = False
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def enter(self, *, alone: bool = False) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._alone)
            if alone:
                self._alone = True
                try:
                    await self._changed.wait_for(lambda: self._running == 0)
                except BaseException:
                    self._alone = False
                    self._changed.notify_all()
                    raise
            self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if alone:
                self._alone = False
            # Not awaited under cancellation: the lock is free whenever no coroutine is between two awaits.
            await asyncio.shield(self._notify())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
