"""The dispatcher's side of Redis: what is due now, and when to look again."""

import asyncio
from dataclasses import dataclass

from runtime.redis import store_error
from runtime.scripts import Scripts

REDO_SECONDS = 8.0  # a poke that was lost costs this much
ALERT_REDO_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Due:
    conversation_ids: tuple[str, ...]
    alert_ids: tuple[str, ...]
    next_in_seconds: float | None  # None: nothing waits at all


class Schedule:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def pop_due(self, *, limit: int, quota: int) -> Due:
        """Hand out what is due; at most `quota` conversations are handed out and not yet claimed at any moment."""
        now, upcoming, ids, alerts = await self._scripts.run(
            "pop_due", limit, round(REDO_SECONDS * 1000), quota, round(ALERT_REDO_SECONDS * 1000)
        )
        wait = max(float(upcoming) - float(now), 0.0) / 1000 if float(upcoming) else None
        return Due(tuple(ids), tuple(alerts), wait)

    async def wait(self, seconds: float) -> None:
        """Sleep, unless a deadline earlier than all that was known comes in."""
        try:
            async with asyncio.timeout(seconds + 2):
                await self._scripts.command("BLPOP", "ns:wake", max(round(seconds, 3), 0.01))
        except TimeoutError as exc:
            raise store_error(exc) from exc
