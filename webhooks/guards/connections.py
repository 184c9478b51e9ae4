"""Bounds how many connections are open at once, and what their unfinished heads hold together.

A stranger opens connections that say nothing, or never come to the end of what they say. Where one more would be too
many, the one whose request has been unfinished for the longest is dropped; Meta's are whole within moments.
"""

from collections.abc import Callable
from typing import Protocol

from runtime.clock import monotonic
from runtime.logging import get_logger
from webhooks.guards.throttle import Throttle

log = get_logger(__name__)

MOST = 4096
"""Some 10 KB each. Meta and a proxy in front have a few hundred open on a busy day."""

FILES_FOR_OTHERS = 256
"""Redis, logs, what is being closed, and connections that come before the ones they replace are gone."""

HEADS_BYTES = 16 * 1024 * 1024
"""A head of Meta's stays under 1 KiB and comes in one piece, so that it is never counted."""

_LOG_AGAIN_SECONDS = 30.0


class Connection(Protocol):
    def drop(self) -> None:
        """End it at once, without a word."""
        ...


def most_connections(open_files: int) -> int:
    """So many of the files that this process may have open are for connections."""
    return min(MOST, max(open_files - FILES_FOR_OTHERS, open_files // 2, 1))


class Connections:
    """Every connection is either waiting for a request to be whole, being answered, or idle after an answer."""

    def __init__(
        self, most: int = MOST, *, heads_bytes: int = HEADS_BYTES, clock: Callable[[], float] = monotonic
    ) -> None:
        self.most = most
        self.dropped = 0
        self._left_for_heads = heads_bytes
        self._open: set[Connection] = set()
        # Both in the order of time, the one that has been so for the longest first.
        self._unfinished: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._heads: dict[Connection, int] = {}
        self._throttle = Throttle(_LOG_AGAIN_SECONDS, clock)

    @property
    def open(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> None:
        if len(self._open) >= self.most:
            self._drop(next(iter(self._unfinished or self._idle), connection), "too many connections")
            if len(self._open) >= self.most:  # all are being answered
                return
        self._open.add(connection)
        self._unfinished[connection] = None

    def begun(self, connection: Connection) -> None:
        """Something of a request is there."""
        self._idle.pop(connection, None)
        if connection in self._open:
            self._unfinished.setdefault(connection)

    def holds(self, connection: Connection, size_bytes: int) -> None:
        """So many more bytes of a head are there, and it is still no whole one."""
        self._heads[connection] = self._heads.get(connection, 0) + size_bytes
        self._left_for_heads -= size_bytes
        while self._left_for_heads < 0:
            self._drop(next(iter(self._heads)), "too many unfinished heads")

    def has_head(self, connection: Connection) -> None:
        self._left_for_heads += self._heads.pop(connection, 0)

    def whole(self, connection: Connection) -> None:
        """The request is whole: what it waits for now is us."""
        self._unfinished.pop(connection, None)
        self._idle.pop(connection, None)

    def answered(self, connection: Connection) -> None:
        self._unfinished.pop(connection, None)
        if connection in self._open:
            self._idle[connection] = None

    def closed(self, connection: Connection) -> None:
        self.whole(connection)
        self.has_head(connection)
        self._open.discard(connection)

    def _drop(self, connection: Connection, reason: str) -> None:
        self.closed(connection)
        self.dropped += 1
        connection.drop()
        if (held_back := self._throttle.passes(reason)) is not None:
            log.warning("connections_dropped", reason=reason, open=self.open, most=self.most, held_back=held_back)
