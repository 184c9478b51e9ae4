"""Can `[store] replicas` be kept? Asked at the start, since every POST is a 503 where it cannot."""

import asyncio

from runtime.findings import Finding, Level
from runtime.logging import get_logger
from store.connection import NotConfirmed, StoreUnavailable
from store.keys import PROBE
from store.scripts import Scripts
from store.server.confirmation import CONFIRM_SECONDS

log = get_logger(__name__)

CHECK = "store.replicas"
ASK_AGAIN_SECONDS = 2.0


async def check_replicas(scripts: Scripts) -> list[Finding]:
    """What stands in the way of a confirmation; nothing where none is asked for. Raises `StoreUnavailable` when Redis
    could not be asked."""
    try:
        await scripts.command_confirmed("SET", PROBE, "1", "PX", 60_000)
    except NotConfirmed as exc:
        asked = f"[store] replicas = {scripts.replicas}"
        if "NOPERM" in str(exc):
            what = f"{asked}, but this Redis user may not run WAIT: every POST is answered with 503"
            return [Finding(CHECK, Level.ERROR, what, "allow it (ACL: +wait), or set replicas = 0")]
        what = f"{asked}, but within {CONFIRM_SECONDS} s no replica has confirmed a write ({exc}): POSTs get 503"
        fix = "connect a replica (INFO replication shows connected_slaves), or set replicas = 0"
        return [Finding(CHECK, Level.WARNING, what, fix)]
    return []


async def tell_replicas(scripts: Scripts) -> None:
    """Log what was found, as soon as Redis can be asked."""
    while scripts.replicas:
        try:
            for finding in await check_replicas(scripts):
                log.error("replicas_missing", detail=str(finding))
        except StoreUnavailable as exc:
            log.debug("replicas_unknown", reason=str(exc))
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        else:
            return
