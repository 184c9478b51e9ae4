"""GET /health/*: is this process alive, can it store what it hears, and how is the whole system?"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.errors import NightshiftError
from runtime.logging import get_logger
from webhooks.status.single_flight import SingleFlight

log = get_logger(__name__)

_READY_SECONDS = 1.0
_SYSTEM_SECONDS = 2.0
_NO_CACHE = {"Cache-Control": "no-store"}
_REDIS_AWAY: Mapping[str, Any] = {
    "ok": False,
    "redis": False,
    "dispatcher": None,
    "workers": 0,
    "beat": None,
    "open": None,
    "oldest_open_seconds": None,
}


class HealthStore(Protocol):
    async def writable(self) -> bool: ...


class SystemHealthStore(Protocol):
    async def system_health(self) -> Mapping[str, Any]:
        """The body of /health/system, by heartbeats and the ledger."""
        ...


@dataclass(frozen=True, slots=True)
class Freshness:
    """Seconds for which an answer is given again, so that asking costs Redis little however often it is done.

    `unwell_seconds`: what is not well is looked at sooner, since an operator may be waiting for it to be.
    """

    ready_seconds: float = 1.0
    system_seconds: float = 5.0
    unwell_seconds: float = 0.5


class HealthEndpoints:
    def __init__(self, store: HealthStore, operator_store: SystemHealthStore, freshness: Freshness) -> None:
        self._store = store
        self._operator_store = operator_store
        self._ready = SingleFlight(self._look_at_store, fresh_seconds=lambda _: freshness.ready_seconds)
        self._system = SingleFlight(
            self._look_at_system,
            fresh_seconds=lambda seen: freshness.system_seconds if seen["ok"] else freshness.unwell_seconds,
        )

    async def live(self, _request: Request) -> Response:
        return _answer({"ok": True}, well=True)

    async def ready(self, _request: Request) -> Response:
        """Says nothing of dispatcher and workers, or a dead worker would cost us webhooks."""
        well = await self._ready.get()
        return _answer({"ok": well}, well=well)

    async def system(self, _request: Request) -> Response:
        report = await self._system.get()
        return _answer(report, well=report["ok"] is True)

    async def _look_at_store(self) -> bool:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                return await self._store.writable()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("receiver_not_ready", error=type(exc).__name__)
            return False

    async def _look_at_system(self) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(_SYSTEM_SECONDS):
                return await self._operator_store.system_health()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("system_health_unknown", error=type(exc).__name__)
            return _REDIS_AWAY


def _answer(body: Mapping[str, Any], *, well: bool) -> Response:
    return JSONResponse(dict(body), status_code=200 if well else 503, headers=_NO_CACHE)
