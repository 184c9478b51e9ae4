"""What the models have cost today, in all and for one customer, so that caps hold across all workers."""

from runtime.clock import utc_day
from runtime.logging import get_logger
from store.connection import StoreUnavailable
from store.keys import spent_key
from store.scripts import Scripts

log = get_logger(__name__)

KEPT_SECONDS = 40 * 86_400


class Spending:
    """US dollars of one UTC day, by the server's clock. Redis away costs a figure, never a reply: the last sum that was
    seen stands in."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._seen: tuple[str, float] = ("", 0.0)

    async def today(self) -> float:
        key = spent_key(utc_day(self._scripts.clock.now_ms()))
        try:
            return self._note(key, float(await self._scripts.command("GET", key) or 0))
        except StoreUnavailable as exc:
            return self._stale(key, exc)

    async def add(self, dollars: float, *, conversation_id: str) -> float:
        """The sum of the day, this amount included; it is also counted for the conversation."""
        key = spent_key(utc_day(self._scripts.clock.now_ms()))
        try:
            amount = f"{dollars:.12f}"
            total = float(await self._scripts.run("spend", conversation_id, amount, key, KEPT_SECONDS * 1000))
        except StoreUnavailable as exc:
            return self._stale(key, exc) + dollars
        return self._note(key, total)

    def _note(self, key: str, total: float) -> float:
        self._seen = (key, total)
        return total

    def _stale(self, key: str, exc: StoreUnavailable) -> float:
        log.warning("spending_unknown", reason=str(exc))
        return self._seen[1] if self._seen[0] == key else 0.0
