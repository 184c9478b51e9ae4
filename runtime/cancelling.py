"""Cancelling that can be relied on: a task that must end ends, and work that must not be cut in two is not.

Libraries swallow a cancellation now and then, and the code that awaits the task would hang for ever.

redis-py's asynchronous client does so when the cancellation meets a reconnect (seen after a killed server).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

ASK_AGAIN_SECONDS = 0.5


async def cancel_and_wait(task: "asyncio.Future[Any]") -> None:
    """Return when `task` is done, however often it has to be told; its own result or failure stays in it."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=ASK_AGAIN_SECONDS)


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Let `work` run to its end, also when the caller is cancelled meanwhile; the cancellation follows then."""
    task = asyncio.create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()
