"""Redis is away or refuses writes: nothing can be noted down, so the receiver itself remembers and tells."""

from collections.abc import Callable

from bot.alerts.alert import Alert
from bot.errors import NightshiftError
from monitoring.direct_alerts import DirectAlerts
from runtime.clock import monotonic
from runtime.logging import get_logger
from store.connection import StoreBroken, StoreUnavailable
from store.health import SystemHealth
from store.keys import telling_key
from store.scripts import Scripts

log = get_logger(__name__)

NO_REDIS = "no_redis"
PATIENCE_SECONDS = 30.0
TELL_AGAIN_SECONDS = 30.0


class StoreWatch:
    """Each receiver tells of its own outage, since there is nothing left to agree through; the end is told by one."""

    def __init__(
        self,
        health: SystemHealth,
        scripts: Scripts,
        alerts: DirectAlerts,
        *,
        clock_ms: Callable[[], int],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._health = health
        self._scripts = scripts
        self._alerts = alerts
        self._clock = clock
        self._clock_ms = clock_ms
        self._failing_since: float | None = None
        self._failing_since_ms = 0
        self._told = False
        self._silent_until = 0.0

    async def look(self) -> bool:
        """Whether Redis takes writes now."""
        try:
            await self._health.writable()
            await self._well()
        except (StoreUnavailable, StoreBroken) as exc:  # refused is refused, Redis or our own rights being to blame
            await self._failing(str(exc))
            return False
        return True

    async def _failing(self, reason: str) -> None:
        now = self._clock()
        if self._failing_since is None:
            self._failing_since, self._failing_since_ms = now, self._clock_ms()
            self._silent_until = now + PATIENCE_SECONDS
        if self._told or now < self._silent_until:
            return
        log.error("store_down", reason=reason, seconds=round(now - self._failing_since))
        self._told = await self._say(Alert(NO_REDIS, detail=reason, first_at=self._failing_since_ms))

    async def _well(self) -> None:
        if self._failing_since is not None and not self._told:
            self._failing_since = None  # too short to be worth a word
        if not self._told or self._clock() < self._silent_until:
            return
        alert = Alert(NO_REDIS, recovered=True, first_at=self._failing_since_ms, over_at=self._clock_ms())
        # One voice is enough for the good news, and there is a place again to agree on whose.
        lock = ("SET", telling_key(f"system:{NO_REDIS}:recovered"), "1", "NX", "PX", 60_000)
        if await self._scripts.command(*lock) is None or await self._say(alert):
            log.info("store_up")
            self._told, self._failing_since = False, None
        else:
            await self._scripts.command("DEL", lock[1])

    async def _say(self, alert: Alert) -> bool:
        """Without Telegram the log is where it is said."""
        if not self._alerts.configured:
            log.error("alert_without_telegram", **alert.body())
            return True
        try:
            await self._alerts.send(alert, now_ms=self._clock_ms())
        except NightshiftError as exc:
            log.error("alert_not_delivered", rule=NO_REDIS, error=type(exc).__name__, reason=str(exc))
            self._silent_until = self._clock() + TELL_AGAIN_SECONDS
            return False
        return True
