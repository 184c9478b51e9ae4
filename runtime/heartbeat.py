"""Signs of life. A process may beat only while it does its work, not merely while it exists."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable

from runtime.health import HEARTBEAT_SECONDS, SystemHealth
from runtime.logging import get_logger
from runtime.redis import StoreUnavailable, connect
from runtime.scripts import Scripts
from runtime.settings import Settings

log = get_logger(__name__)


def instance_name() -> str:
    return f"{host_name()}:{os.getpid()}"


def host_name() -> str:
    return socket.gethostname()


def start_heartbeat(process: str, settings: Settings) -> None:
    """In a daemon thread, for as long as a process lives that has no event loop of its own."""
    threading.Thread(
        target=lambda: asyncio.run(_beat_alone(process, settings)), name="nightshift-heartbeat", daemon=True
    ).start()


async def beat_for_ever(
    health: SystemHealth,
    process: str,
    *,
    at_work: Callable[[], bool] = lambda: True,
    period_seconds: float = HEARTBEAT_SECONDS,
) -> None:
    """Every few seconds while `at_work`; an outage is nobody's end, the missing beats say it themselves."""
    silent = False
    while True:
        if at_work():
            silent = False
            try:
                await health.beat(process, instance_name())
            except StoreUnavailable as exc:
                log.debug("heartbeat_failed", reason=str(exc))
        elif not silent:
            silent = True
            log.warning("heartbeat_withheld", process=process)
        await asyncio.sleep(period_seconds)


async def _beat_alone(process: str, settings: Settings) -> None:
    client = connect(settings.env.redis_url, max_connections=1, timeout_seconds=3, client_name=f"nightshift-{process}")
    await beat_for_ever(SystemHealth(Scripts(client), settings), process)
