"""Bounds what a connection may take before its request has begun: endless headers, or none at all.

uvicorn collects a request's head until it is complete, however long that takes and however large it grows, and what
comes after an early answer keeps its connection open for ever. A proxy in front has bounds of its own; a receiver
without one must not be brought down by a stranger with a single connection.
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from runtime.clock import monotonic
from webhooks.throttle import Throttle

HEAD_BYTES = 64 * 1024
"""Meta's own heads stay under 1 KiB. Counted from the second read on; the first is as large as a read can be."""

HEAD_SECONDS = 20.0
_LOG_AGAIN_SECONDS = 30.0


class BoundedHead(HttpToolsProtocol):
    """A request whose head comes in one piece, as Meta's do, costs two comparisons more than it did."""

    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._patience: asyncio.TimerHandle | None = None
        self._taken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._patience = self.loop.call_later(self.head_seconds, self._run_out)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and cycle.scope is self.scope and not cycle.response_complete:
            if self._patience is not None:
                self._forget()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.head_seconds, self._run_out)
        else:
            self._taken += len(data)
            if self._taken > self.head_bytes:
                self._end(b"431 Request Header Fields Too Large")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _run_out(self) -> None:
        self._patience = None
        if self.cycle is None or self.cycle.response_complete:  # else an earlier request is being answered
            self._end(b"408 Request Timeout")

    def _forget(self) -> None:
        self._taken = 0
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _end(self, status: bytes) -> None:
        self._forget()
        if self.transport.is_closing():
            return
        answered = self.cycle.scope if self.cycle is not None else None
        if self.scope is not answered:  # else nothing was asked, and a proxy would take this for its next answer
            self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
        self.transport.close()


class StrangersOnce(logging.Filter):
    """Lets uvicorn's warnings about broken requests through once in a while: anybody can send those by the thousand."""

    def __init__(self) -> None:
        super().__init__()
        self._throttle = Throttle(_LOG_AGAIN_SECONDS, monotonic)

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno != logging.WARNING or self._throttle.passes(record.msg) is not None
