"""Webhooks that came before it was known whose they are: kept for a day, so that they are answered once it is."""

from store.keys import EARLY
from store.scripts import Scripts

MOST = 500
MOST_BYTES = 64 * 1024  # of one; an entry is a few hundred
KEPT_SECONDS = 24 * 3600.0  # after that the messaging window is closed


class EarlyEvents:
    """Records are text, and taken out by their text: two receivers that replay one at once do no harm."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def keep(self, *records: str) -> int:
        """How many had to go to make room."""
        return int(await self._scripts.run_confirmed("keep_early", round(KEPT_SECONDS * 1000), MOST, *records))

    async def kept(self) -> list[str]:
        found: list[str] = await self._scripts.command("LRANGE", EARLY, 0, -1)
        return found

    async def drop(self, record: str) -> None:
        await self._scripts.command("LREM", EARLY, 1, record)
