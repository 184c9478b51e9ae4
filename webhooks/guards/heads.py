"""Bounds what a connection may take that no application sees: endless heads, trailers and pipelines, unread answers;
and, with `Connections`, how many of them there are.

uvicorn collects a request's head until it is complete, however long that takes and however large it grows, keeps every
trailer of a chunked body and every request that came before its turn, and holds what a client does not read for ever.
A proxy in front has bounds of its own; a receiver without one must not be brought down by a single connection: 10 MB
of small headers or trailers cost uvicorn 193 MB of memory, and no setting of it says less. A POST in one piece takes
60.6 us of CPU, with uvicorn's own protocol 60.4 us (benchmarks/by_hand.py).
"""

import asyncio
import logging
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from runtime.clock import monotonic
from webhooks.guards.connections import Connections
from webhooks.guards.throttle import Throttle

HEAD_BYTES = 16 * 1024
"""Meta's own heads stay under 1 KiB. While a head is unfinished it is counted from the second read on; the first is as
large as a read can be, and counted once its head is whole."""

MOST_HEADERS = 256
"""One of a few bytes takes a hundred once it is read."""

HEAD_SECONDS = 20.0

IDLE_BYTES = 64 * 1024
"""What may come after a piece of a body and before the next: a chunk's extensions, the trailers. The parser joins the
pieces of a long one anew at every read, which is cheap up to here."""

REQUEST_BYTES = 12 * 1024 * 1024
"""The largest body that is taken, and half as much again for the frames of its chunks."""

MOST_PIPELINED = 8
"""Requests that wait for their turn: neither Meta nor a common proxy sends any. Each is at most as large as a read."""

UNREAD_SECONDS = 20.0
"""How long an answer may wait for a client that does not read it."""

_LOG_AGAIN_SECONDS = 30.0


class TooMuchAsked(Exception):
    """A head with more or longer headers, or a pipeline with more requests, than Meta or a browser sends."""


class _Trailers(list[tuple[bytes, bytes]]):
    """Where uvicorn puts the trailers of a chunked body, which no code reads."""

    def append(self, _trailer: tuple[bytes, bytes], /) -> None:
        pass


_TRAILERS = _Trailers()


class BoundedHead(HttpToolsProtocol):
    """A request that comes in one piece, as Meta's do, costs a few comparisons more than it did."""

    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS
    unread_seconds = UNREAD_SECONDS
    everybody = Connections()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._patience: asyncio.TimerHandle | None = None
        self._taken = 0
        self._reading = 0
        self._idle = 0
        self._request = 0
        self._abreast: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._patience = self.loop.call_later(self.head_seconds, self._run_out)
        # The kernel ends what stays unread, whether uvicorn waits for it or has closed; other systems do not.
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            milliseconds = round(self.unread_seconds * 1000)
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        self.everybody.opened(self)

    def data_received(self, data: bytes) -> None:
        earlier = self.cycle
        unread = len(earlier.body) if earlier is not None and earlier.more_body else 0
        self._reading = len(data)
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and cycle.scope is self.scope and not cycle.response_complete:
            if self._patience is not None:
                self._forget()
            if cycle.more_body:
                if cycle is not earlier:
                    self._idle = self._request = 0
                    self.everybody.begun(self)
                self._count(len(data), got_body=len(cycle.body) > (unread if cycle is earlier else 0))
            else:
                self.everybody.whole(self)
            return
        if self.transport.is_closing():
            return
        if cycle is None or cycle.response_complete:  # else an earlier request is being answered
            self.everybody.begun(self)
        self.everybody.holds(self, len(data))
        if self._patience is None:
            self._patience = self.loop.call_later(self.head_seconds, self._run_out)
        else:
            self._taken += len(data)
            if self._taken > self.head_bytes:
                self._end(b"431 Request Header Fields Too Large")

    def on_headers_complete(self) -> None:
        # uvicorn answers what is raised here as it does a broken request: with 400 and the end of the connection.
        if len(self.headers) > MOST_HEADERS or self._has_large_head():
            raise TooMuchAsked
        earlier = self.cycle
        super().on_headers_complete()
        self.headers = _TRAILERS
        if self.pipeline:
            self._abreast = [*self._abreast[-MOST_PIPELINED:], earlier]
            if len(self.pipeline) > MOST_PIPELINED:
                raise TooMuchAsked

    def on_body(self, body: bytes) -> None:
        if self.scope["method"] == "POST":  # a body that comes with another method is not read
            HttpToolsProtocol.on_body(self, body)

    def on_response_complete(self) -> None:
        HttpToolsProtocol.on_response_complete(self)
        if not self.pipeline and self.cycle.response_complete:
            self.everybody.answered(self)

    def drop(self) -> None:
        self._forget()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self.everybody.closed(self)
        for cycle in self._abreast:  # uvicorn tells only the last one, and the others would answer into nothing
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def _count(self, size_bytes: int, *, got_body: bool) -> None:
        self._request += size_bytes
        self._idle = 0 if got_body else self._idle + size_bytes
        if self._idle > IDLE_BYTES or self._request > REQUEST_BYTES:
            self._end()

    def _has_large_head(self) -> bool:
        if self._taken + self._reading <= self.head_bytes:
            return False
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.head_bytes

    def _run_out(self) -> None:
        self._patience = None
        if self.cycle is None or self.cycle.response_complete:  # else an earlier request is being answered
            self._end(b"408 Request Timeout")

    def _forget(self) -> None:
        self._taken = 0
        self.everybody.has_head(self)
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _end(self, status: bytes = b"") -> None:
        self._forget()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        answered, busy = (None, False) if cycle is None else (cycle.scope, not cycle.response_complete)
        # A proxy would take this for the answer it waits for, or for its next one when nothing was asked.
        if status and self.scope is not answered and not busy:
            self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
        self.transport.close()


def bounded_by(connections: Connections) -> type[BoundedHead]:
    """The protocol of one server: all of its connections are counted together."""
    return type("BoundedHead", (BoundedHead,), {"everybody": connections})


class StrangersOnce(logging.Filter):
    """Lets uvicorn's warnings about broken requests through once in a while: a client can cause thousands."""

    def __init__(self) -> None:
        super().__init__()
        self._throttle = Throttle(_LOG_AGAIN_SECONDS, monotonic)

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno != logging.WARNING or self._throttle.passes(record.msg) is not None
