"""The dispatcher's side of Redis: what is due now, and when to look again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from runtime.clock import monotonic
from store.keys import WAKE
from store.scripts import Scripts
from store.server.clock_watch import Told

REDO_SECONDS = 8.0  # a poke that was lost costs this much
ALERT_REDO_SECONDS = 60.0
WAKE_CALL_SECONDS = 5.0  # shorter than the client's patience with a silent server


@dataclass(frozen=True, slots=True)
class Due:
    """`told` is what the server's clock said meanwhile."""

    conversation_ids: tuple[str, ...]
    alert_ids: tuple[str, ...]
    next_in_seconds: float | None  # None: nothing waits at all
    told: Told


class Schedule:
    def __init__(self, scripts: Scripts, *, clock: Callable[[], float] = monotonic) -> None:
        self._scripts = scripts
        self._clock = clock
        self._woken: asyncio.Task[object] | None = None

    async def pop_due(self, *, limit: int, quota: int, alert_limit: int = 50) -> Due:
        """Hand out what is due; at most `quota` conversations are handed out and not yet claimed at any moment."""
        asked = self._clock()
        now, upcoming, ids, alerts = await self._scripts.run(
            "pop_due", limit, round(REDO_SECONDS * 1000), quota, round(ALERT_REDO_SECONDS * 1000), alert_limit
        )
        self._scripts.clock.tells(int(now))
        wait = max(float(upcoming) - float(now), 0.0) / 1000 if float(upcoming) else None
        return Due(tuple(ids), tuple(alerts), wait, Told(int(now), asked, self._clock()))

    async def wait(self, seconds: float) -> None:
        """Sleep, unless a deadline earlier than all that was known comes in.

        The server ends a BLPOP whose own time is over only ten times a second, so the time is kept here, and the call
        stays on its way from one wait to the next.
        """
        if self._woken is None:
            self._woken = asyncio.create_task(self._scripts.blocking_command("BLPOP", WAKE, WAKE_CALL_SECONDS))
            self._woken.add_done_callback(_take_note)  # the next wait is told, if there is one
        await asyncio.wait({self._woken}, timeout=seconds)
        if self._woken.done():
            woken, self._woken = self._woken, None
            woken.result()

    async def aclose(self) -> None:
        if self._woken is not None:
            self._woken.cancel()
            await asyncio.wait({self._woken})


def _take_note(call: asyncio.Task[object]) -> None:
    if not call.cancelled():
        call.exception()
