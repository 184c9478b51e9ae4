"""The customer sees that somebody is typing while the turn thinks. Decoration: its failure is nobody's trouble."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.errors import NightshiftError
from clients.graph_api import GraphAPI
from runtime.logging import get_logger

log = get_logger(__name__)

AGAIN_SECONDS = 15.0  # Meta lets the dots fade after about twenty


@asynccontextmanager
async def typing(graph: GraphAPI, customer_id: str) -> AsyncIterator[None]:
    """Keeps the dots alive; it has ended before the first word is sent, or they would come back after the reply."""
    task = asyncio.create_task(_keep_typing(graph, customer_id))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _keep_typing(graph: GraphAPI, customer_id: str) -> None:
    while True:
        try:
            await graph.send_action(customer_id, "typing_on")
        except NightshiftError as exc:
            log.debug("typing_failed", error=type(exc).__name__)
            return
        await asyncio.sleep(AGAIN_SECONDS)
