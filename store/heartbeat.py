"""Signs of life. A process may beat only while it does its work, not merely while it exists."""

import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

from runtime.background import Count, repeat, start_thread
from runtime.logging import get_logger
from runtime.settings import Settings
from store.connection import connect
from store.failure_counts import count_in
from store.health import HEARTBEAT_SECONDS, SystemHealth
from store.scripts import Scripts

log = get_logger(__name__)

LIMIT_SECONDS = 15.0


def instance_name() -> str:
    return f"{host_name()}:{os.getpid()}"


def host_name() -> str:
    return socket.gethostname()


def start_heartbeat(process: str, settings: Settings) -> None:
    """In a daemon thread, for as long as a process lives that has no event loop of its own."""
    start_thread("nightshift-heartbeat", lambda: _beat_alone(process, settings))


async def beat_for_ever(
    health: SystemHealth,
    process: str,
    *,
    at_work: Callable[[], bool] = lambda: True,
    period_seconds: float = HEARTBEAT_SECONDS,
    count: Count | None = None,
) -> None:
    """Every few seconds while `at_work`; no failure ends it, the missing beats say it themselves."""
    silent = False

    async def beat() -> None:
        nonlocal silent
        if at_work():
            silent = False
            await health.beat(process, instance_name())
        elif not silent:
            silent = True
            log.warning("heartbeat_withheld", process=process)

    await repeat(
        "heartbeat",
        beat,
        every_seconds=period_seconds,
        limit_seconds=LIMIT_SECONDS,
        longest_wait_seconds=period_seconds,  # each beat that is left out is heard as a death
        count=count,
    )


async def _beat_alone(process: str, settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        name = f"nightshift-{process}"
        client = connect(settings.env.redis_url, max_connections=1, timeout_seconds=3, client_name=name)
        stack.push_async_callback(client.aclose)
        scripts = Scripts(client)
        await beat_for_ever(SystemHealth(scripts, settings), process, count=count_in(scripts))
