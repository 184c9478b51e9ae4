"""Signs of life for a process that has no event loop of its own."""

import asyncio
import os
import socket
import threading

from runtime.health import HEARTBEAT_SECONDS, SystemHealth
from runtime.logging import get_logger
from runtime.redis import StoreUnavailable, connect
from runtime.scripts import Scripts
from runtime.settings import Settings

log = get_logger(__name__)


def instance_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def start_heartbeat(process: str, settings: Settings) -> None:
    """In a daemon thread, for as long as the process lives."""
    threading.Thread(
        target=lambda: asyncio.run(_beat_alone(process, settings)), name="nightshift-heartbeat", daemon=True
    ).start()


async def beat_for_ever(health: SystemHealth, process: str) -> None:
    """Every few seconds; an outage is nobody's end, the missing beats say it themselves."""
    while True:
        try:
            await health.beat(process, instance_name())
        except StoreUnavailable as exc:
            log.debug("heartbeat_failed", reason=str(exc))
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def _beat_alone(process: str, settings: Settings) -> None:
    client = connect(settings.env.redis_url, max_connections=1, timeout_seconds=3, client_name=f"nightshift-{process}")
    await beat_for_ever(SystemHealth(Scripts(client), settings), process)
