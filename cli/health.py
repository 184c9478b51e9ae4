"""`nightshift health worker`: does this host's own process still do its work? For a container's health check."""

import asyncio
import sys

from cli.store import settings_with_store
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect
from store.health import SystemHealth
from store.heartbeat import host_name
from store.scripts import Scripts


def run(*, process: str) -> int:
    """0 when it was heard of lately; 1 when not, or when Redis is away and cannot tell."""
    settings = settings_with_store()
    try:
        alive = asyncio.run(_alive(settings, f"{process} {host_name()}:"))
    except StoreUnavailable as exc:
        sys.stderr.write(f"Redis is unavailable ({exc})\n")
        return 1
    sys.stdout.write(f"{process} on {host_name()}: {'alive' if alive else 'not heard of'}\n")
    return 0 if alive else 1


async def _alive(settings: Settings, prefix: str) -> bool:
    client = connect(settings.env.redis_url, max_connections=1, timeout_seconds=3, client_name="nightshift-cli")
    try:
        view = await SystemHealth(Scripts(client), settings).look()
    finally:
        await client.aclose()
    return any(member.startswith(prefix) for member in view.alive)
