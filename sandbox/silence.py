"""The ways a server says nothing: it cuts the connection, or lets the caller wait."""

import asyncio
import contextlib

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class CutConnection(Response):
    """Closes the connection without a byte of an answer, as a dying load balancer does."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        # ASGI has no word for it: uvicorn's `receive` is a method of the object that owns the transport.
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        if transport is None:
            raise RuntimeError("only uvicorn's connections can be cut")
        transport.abort()
        while (await receive())["type"] != "http.disconnect":
            pass
        if self.background is not None:
            await self.background()


async def hang(request: Request, seconds: float) -> None:
    """Wait for so long, or until the caller gives up. The body must have been read."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await request.receive())["type"] != "http.disconnect":
                pass
