"""One connection for many callers: their calls go out as they come, and the answers come back in the same order.

A pool lends each caller a connection for one answer; with redis-py's asynchronous client a call costs 142 us of CPU,
here 33 us (twenty at once: benchmarks/by_hand.py), and a turn makes a dozen of them. It also drops the connection of a
caller that is cancelled, where here that caller is just not waited for. Making the connection (address, TLS, password,
Sentinel) stays redis-py's business.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import hiredis
from redis.asyncio import ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from runtime.cancelling import cancel_and_wait

# A server that says so is no primary any more: the address has to be asked for again.
_DEMOTED = ("READONLY", "MASTERDOWN")
_NOTHING = object()

Words = Sequence[str | bytes | float]
"""A command and its arguments."""


def pack(words: Words) -> bytes:
    """A call as it goes to the server. Raises what it cannot be packed with: `TypeError`, `UnicodeEncodeError`."""
    packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type]  # its stub wants ints as well
    return packed


class Wire:
    """Belongs to one event loop. Blocking commands are not for it: all other callers would wait behind them."""

    def __init__(self, pool: ConnectionPool, timeout_seconds: float) -> None:
        self._pool = pool
        self._timeout = timeout_seconds
        self._line: _Line | None = None
        self._connecting: asyncio.Task[_Line] | None = None
        self._closed = False

    async def call(self, *words: str | bytes | float) -> Any:
        """The server's answer. Raises redis-py's errors; after one of the connection it is unknown what was done."""
        line = self._line
        if line is None or line.is_closing or self._closed:
            line = await self._open_line()
        return await line.send(hiredis.pack_command(words))  # type: ignore[arg-type]  # its stub wants ints as well

    async def together(self, packed: Sequence[bytes]) -> "list[asyncio.Future[Any]]":
        """Several calls (of `pack`) in one write: on one connection, in this order, to the end of it. An answer for
        each."""
        line = await self._open_line()
        return line.post(packed)

    async def _open_line(self) -> "_Line":
        if self._closed:
            raise RedisConnectionError("the client is closed")
        line = self._line
        return await self._connected() if line is None or line.is_closing else line

    async def aclose(self) -> None:
        self._closed = True
        if self._connecting is not None:
            await cancel_and_wait(self._connecting)
        if self._line is not None:
            await self._line.aclose()

    async def _connected(self) -> "_Line":
        """All callers that come meanwhile share one try, and its failure: against a dead server no queue forms."""
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(lambda task: task.cancelled() or task.exception())
        connecting = self._connecting
        await asyncio.wait({connecting})
        if connecting.cancelled():
            raise RedisConnectionError("the client was closed")
        return connecting.result()

    async def _connect(self) -> "_Line":
        if self._line is not None:
            await self._line.aclose()
        connection: Any = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()
            self._line = _Line(connection, self._timeout)
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        return self._line


class _Line(asyncio.Protocol):
    """Takes an open connection over from redis-py, which keeps it only to close it."""

    def __init__(self, connection: Any, timeout_seconds: float) -> None:
        self._connection = connection
        self._timeout = timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=ResponseError,
            encoding="utf-8",
            errors="surrogateescape",  # a broken value is the trouble of who asked for it, not of all
            notEnoughData=_NOTHING,
        )
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: Any = connection._writer.transport  # there is no public way to it
        self._before = self._transport.get_protocol()
        self._transport.set_protocol(self)

    @property
    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())

    async def send(self, packed: bytes) -> Any:
        answer = self._expect()
        self._transport.write(packed)
        return await answer

    def post(self, packed: Sequence[bytes]) -> list[asyncio.Future[Any]]:
        answers = [self._expect() for _ in packed]
        self._transport.write(b"".join(packed))
        return answers

    def _expect(self) -> asyncio.Future[Any]:
        if self.is_closing:
            raise RedisConnectionError("the connection was lost")
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((answer, self._loop.time()))
        if self._timer is None:
            self._timer = self._loop.call_later(self._timeout, self._look_at_the_oldest)
        return answer

    async def aclose(self) -> None:
        await self._connection.disconnect(nowait=True)
        self._transport.abort()  # over TLS a farewell would be waited for, and the loop may end before it comes

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (answer := self._reader.gets()) is not _NOTHING:
                if not isinstance(answer, hiredis.PushNotification):
                    self._hand_out(answer)
        except (RedisConnectionError, InvalidResponse) as exc:
            self._break(exc)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(RedisConnectionError(f"the connection was lost: {exc}" if exc else "the server hung up"))
        self._before.connection_lost(exc)

    def _hand_out(self, answer: Any) -> None:
        if not self._waiting:
            raise InvalidResponse("an answer to no question")
        future, _ = self._waiting.popleft()
        if future.done():  # its caller was cancelled
            return
        if not isinstance(answer, ResponseError):
            future.set_result(answer)
            return
        future.set_exception(answer)
        if str(answer).startswith(_DEMOTED):
            self._break(RedisConnectionError("the server is no primary any more"))

    def _look_at_the_oldest(self) -> None:
        """One timer for all: answers come in order, so no caller waits longer than the first."""
        self._timer = None
        if not self._waiting:
            return
        _, since = self._waiting[0]
        left = since + self._timeout - self._loop.time()
        if left <= 0:
            self._break(RedisTimeoutError("no answer in time"))
        else:
            self._timer = self._loop.call_later(left, self._look_at_the_oldest)

    def _break(self, exc: Exception) -> None:
        self._fail(exc)
        self._transport.abort()

    def _fail(self, exc: Exception) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(type(exc)(*exc.args))  # of its own: a traceback grows with each who raises it
