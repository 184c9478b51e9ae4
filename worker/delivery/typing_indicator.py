"""The customer sees "typing..." while the reply is written. Decoration: its failure changes nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.errors import NightshiftError
from clients.graph.api import GraphAPI
from runtime.cancelling import cancel_and_wait
from runtime.logging import get_logger

log = get_logger(__name__)

# An answer that comes at once needs no dots before it, and it marks the thread as read itself.
QUIET_SECONDS = 0.25
AGAIN_SECONDS = 15.0  # Meta lets the dots fade after about twenty


@asynccontextmanager
async def typing(
    graph: GraphAPI, customer_id: str, *, seen: bool, may_call: Callable[[], Awaitable[bool]]
) -> AsyncIterator[None]:
    """Keeps the dots alive, after "seen" if that is wanted.

    It has ended before the first word is sent, or the dots would come back after the reply. `may_call` is asked
    before each call: decoration takes no place in the line from words.
    """
    task = asyncio.create_task(_keep_typing(graph, customer_id, seen, may_call))
    try:
        yield
    finally:
        await cancel_and_wait(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("typing_broke", error=type(error).__name__)


async def _keep_typing(graph: GraphAPI, customer_id: str, seen: bool, may_call: Callable[[], Awaitable[bool]]) -> None:
    await asyncio.sleep(QUIET_SECONDS)
    if seen:
        await _show(graph, customer_id, "mark_seen", may_call)
    while True:
        if not await _show(graph, customer_id, "typing_on", may_call):
            return
        await asyncio.sleep(AGAIN_SECONDS)


async def _show(graph: GraphAPI, customer_id: str, action: str, may_call: Callable[[], Awaitable[bool]]) -> bool:
    """False when it failed and need not be tried again in this turn."""
    try:
        if await may_call():
            await graph.send_action(customer_id, action)
    except NightshiftError as exc:
        log.debug("sign_of_life_failed", action=action, error=type(exc).__name__)
        return False
    return True
