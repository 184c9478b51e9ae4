"""Where a process of the world ends: its calls to the store, to Meta and to the model wait here to be let through.

A process that was killed stays dead: what it had asked for may still be done, and its answer reaches it no more.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import hiredis
import httpx
import orjson
from redis.exceptions import TimeoutError as RedisTimeoutError

Words = Sequence[str | bytes | float]

STORE_SECONDS = 5.0  # as worker/services.py, connect: then the connection is given up with all that waits on it

acting: ContextVar["Process | None"] = ContextVar("acting", default=None)
turn_of: ContextVar[str] = ContextVar("turn_of", default="")


@dataclass(eq=False)
class StoreCall:
    """`calls` are commands that go out in one write; a WAIT at the end of them is answered by the world.

    `given_up`: the caller has stopped waiting, and the server may do it all the same, but not before `not_before`.
    """

    process: "Process"
    turn: str
    calls: list[Words]
    answers: "list[asyncio.Future[Any]]"
    timer: asyncio.TimerHandle | None = None
    given_up: bool = False
    not_before: float = 0.0

    def leaves_queue(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def succeeds(self, answers: Sequence[Any]) -> None:
        for answer, found in zip(self.answers, answers, strict=True):
            if not answer.done():
                answer.set_result(found)

    def fails(self, error: Exception) -> None:
        for answer in self.answers:
            if not answer.done():
                answer.set_exception(error)


@dataclass(eq=False)
class HTTPCall:
    """`since` is the moment at which it was made, `ready_at` the earliest of its answer.

    `arrived`: Meta has done it, and its answer is `response`.
    """

    process: "Process"
    turn: str
    request: httpx.Request
    body: dict[str, Any]
    answer: "asyncio.Future[httpx.Response]"
    since: float
    ready_at: float = 0.0
    arrived: bool = False
    response: httpx.Response | None = None

    @property
    def is_to_model(self) -> bool:
        return self.request.url.path.endswith("/chat/completions")

    @property
    def is_send(self) -> bool:
        return self.request.method == "POST" and "message" in self.body


@dataclass(eq=False)
class Process:
    """`on_http` is told of each call as it leaves, before anything is done about it."""

    name: str
    loop: asyncio.AbstractEventLoop
    now: Callable[[], float]
    on_http: Callable[[HTTPCall], None]
    alive: bool = True
    store_calls: deque[StoreCall] = field(default_factory=deque)
    http_calls: list[HTTPCall] = field(default_factory=list)
    limbo: list[StoreCall] = field(default_factory=list)  # written to a connection that was given up
    tasks: "dict[asyncio.Task[Any], None]" = field(default_factory=dict)  # in the order in which they began

    def kill(self) -> None:
        """It is gone at once: nothing of it runs on. What it had written to a connection may still be read."""
        self.alive = False
        self.limbo.extend(self.store_calls)
        self.store_calls.clear()
        for call in self.limbo:
            call.leaves_queue()
            call.given_up = True
        for task in list(self.tasks):
            task.cancel()

    def ask_store(self, calls: list[Words]) -> "list[asyncio.Future[Any]]":
        if not self.alive:
            raise asyncio.CancelledError
        call = StoreCall(self, turn_of.get(), calls, [self.loop.create_future() for _ in calls])
        self.store_calls.append(call)
        call.timer = self.loop.call_later(STORE_SECONDS, self._give_up, call)
        return call.answers

    def take_store_call(self) -> StoreCall:
        call = self.store_calls.popleft()
        call.leaves_queue()
        return call

    def _give_up(self, call: StoreCall) -> None:
        if call in self.store_calls:
            self.lose_connection(RedisTimeoutError("Timeout reading from the server"))

    def lose_connection(self, error: Exception) -> None:
        """All that wait for an answer share one connection, and none of them knows what was done."""
        for waiting in self.store_calls:
            waiting.leaves_queue()
            waiting.given_up = True
            waiting.fails(type(error)(*error.args))
        self.limbo.extend(self.store_calls)
        self.store_calls.clear()

    async def ask_over_http(self, request: httpx.Request) -> httpx.Response:
        if not self.alive:
            raise asyncio.CancelledError
        raw = await request.aread()
        body = orjson.loads(raw) if raw else {}
        call = HTTPCall(self, turn_of.get(), request, body, self.loop.create_future(), self.now())
        self.http_calls.append(call)
        self.on_http(call)
        return await call.answer


class GatedWire:
    """In place of `store.server.multiplexed.Wire`."""

    def __init__(self, process: Process, told_time: Callable[[], int]) -> None:
        self._process = process
        self._told_time = told_time

    async def call(self, *words: str | bytes | float) -> Any:
        if words == ("TIME",):
            now = self._told_time()
            return [str(now // 1000), str(now % 1000 * 1000)]
        (answer,) = self._process.ask_store([words])
        return await answer

    async def together(self, packed: Sequence[bytes]) -> "list[asyncio.Future[Any]]":
        reader = hiredis.Reader()
        for one in packed:
            reader.feed(one)
        return self._process.ask_store([reader.gets() for _ in packed])

    async def aclose(self) -> None:
        """There is no connection to close."""


class GatedTransport(httpx.AsyncBaseTransport):
    def __init__(self, process: Process) -> None:
        self._process = process

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._process.ask_over_http(request)
