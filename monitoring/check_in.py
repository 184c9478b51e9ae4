"""The sign of life to a service outside: when everything here is dead, it is its absence that rings."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.clock import monotonic
from runtime.logging import get_logger
from runtime.settings import Settings

if TYPE_CHECKING:
    from clients.heartbeat_url import HeartbeatURL

log = get_logger(__name__)

MONITOR = "nightshift"
PERIOD_SECONDS = 60.0
SCHEDULE = {
    "schedule": {"type": "interval", "value": 1, "unit": "minute"},
    "checkin_margin": 3,
    "failure_issue_threshold": 2,
    "recovery_threshold": 2,
}


class CheckIn:
    """Once a minute: to Sentry how it is, and to `heartbeat_url` only that all is well.

    Every dispatcher checks in for itself: one too many does no harm, while agreeing on one could fail.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        capture: Callable[..., Any] | None = None,
        sentry_is_on: Callable[[], bool] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._url = settings.config.alerts.heartbeat_url
        self._capture = capture or _capture
        self._sentry_is_on = sentry_is_on or _sentry_is_on
        self._clock = clock
        self._next = float("-inf")
        self._failed = False
        self._heartbeat: HeartbeatURL | None = None

    async def maybe(self, *, ok: bool) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PERIOD_SECONDS
        if self._sentry_is_on():
            self._capture(monitor_slug=MONITOR, status="ok" if ok else "error", monitor_config=SCHEDULE)
        if self._url and ok:
            if self._heartbeat is None:
                self._heartbeat = await asyncio.to_thread(_open_heartbeat, self._url)
            problem = await self._heartbeat.fetch()
            if problem and not self._failed:
                log.error("heartbeat_url_failed", reason=problem)
            self._failed = bool(problem)

    async def aclose(self) -> None:
        if self._heartbeat is not None:
            await self._heartbeat.aclose()


def _sentry_is_on() -> bool:
    # Where Sentry is on it is imported already; a process without it is spared the import.
    sentry_sdk = sys.modules.get("sentry_sdk")
    return sentry_sdk is not None and bool(sentry_sdk.get_client().is_active())


def _capture(**check_in: Any) -> None:
    from sentry_sdk.crons import capture_checkin  # noqa: PLC0415

    capture_checkin(**check_in)


def _open_heartbeat(url: str) -> "HeartbeatURL":
    # An HTTP client is not worth its memory where no address is set.
    from clients.heartbeat_url import HeartbeatURL  # noqa: PLC0415

    return HeartbeatURL(url)
