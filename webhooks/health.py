"""GET /health/*: is this process alive, can it store what it hears, and how is the whole house?"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.errors import NightshiftError
from runtime.logging import get_logger

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

    async def system_health(self) -> Mapping[str, Any]:
        """The body of /health/system, by heartbeats and the ledger."""
        ...


class HealthEndpoints:
    def __init__(self, store: HealthStore) -> None:
        self._store = store

    async def live(self, _request: Request) -> Response:
        return _answer({"ok": True}, well=True)

    async def ready(self, _request: Request) -> Response:
        """Says nothing of dispatcher and workers, or a dead worker would cost us webhooks."""
        try:
            async with asyncio.timeout(_READY_SECONDS):
                well = await self._store.writable()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("receiver_not_ready", error=type(exc).__name__)
            well = False
        return _answer({"ok": well}, well=well)

    async def system(self, _request: Request) -> Response:
        try:
            async with asyncio.timeout(_SYSTEM_SECONDS):
                report = await self._store.system_health()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("system_health_unknown", error=type(exc).__name__)
            report = _REDIS_AWAY
        return _answer(report, well=report["ok"] is True)


def _answer(body: Mapping[str, Any], *, well: bool) -> Response:
    return JSONResponse(dict(body), status_code=200 if well else 503, headers=_NO_CACHE)
