"""What is written by hand against the library's way: microseconds of CPU, the median of pairs taken in turns.

`python -m benchmarks.by_hand`; the docstrings of the modules that are measured quote it. httpx-sse is none of our
dependencies: `pip install httpx-sse` first, or its line is left out.
"""

import asyncio
import importlib
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import redis.asyncio
from kombu import Connection, Producer
from kombu.transport import redis as kombu_redis
from pydantic import SecretStr
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from clients.llm.sse import EventReader
from runtime.broker import for_celery
from runtime.embedded import EmbeddedValkey
from store.server.multiplexed import Wire
from webhooks.guards.heads import BoundedHead
from webhooks.guards.patience import Patience

ROUNDS = 15
Work = Callable[[], Awaitable[None]]


async def pair(name: str, times: int, library: Work, ours: Work) -> None:
    """Each does its work `times` times in a call; both are measured in every round, in the other order each time."""
    spent: dict[Work, list[float]] = {library: [], ours: []}
    for number in range(ROUNDS):
        for work in (library, ours) if number % 2 else (ours, library):
            began = time.process_time()
            await work()
            spent[work].append((time.process_time() - began) / times * 1e6)
    theirs, own = statistics.median(spent[library]), statistics.median(spent[ours])
    sys.stdout.write(f"{name}: library {theirs:.2f} us, by hand {own:.2f} us, {theirs / own:.1f} times\n")


async def waits() -> None:
    patience = Patience(10)

    async def library() -> None:
        for _ in range(5000):
            async with asyncio.timeout(10):  # noqa: ASYNC100 - what the block itself costs is measured
                pass

    async def ours() -> None:
        for _ in range(5000):
            with patience.for_one():
                pass

    await pair("a bounded wait (asyncio.timeout)", 5000, library, ours)


async def calls(url: str) -> None:
    client = redis.asyncio.Redis.from_url(url)
    wire = Wire(redis.asyncio.ConnectionPool.from_url(url), 5)

    def twenty(call: Callable[..., Awaitable[Any]]) -> Work:
        async def work() -> None:
            for _ in range(25):
                await asyncio.gather(*(call("GET", "key") for _ in range(20)))

        return work

    await pair("a call to Redis, 20 at once (redis-py's pool)", 500, twenty(client.execute_command), twenty(wire.call))
    await wire.aclose()
    await client.aclose()


async def events() -> None:
    piece = b'data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":"\xd0\xb4\xd0\xb0"}}]}\n\n'
    chunks = [piece * 4] * 500

    try:
        decoders = importlib.import_module("httpx_sse._decoders")
    except ModuleNotFoundError:
        sys.stdout.write("an event of a stream: not measured, httpx-sse is not installed\n")
        return

    async def library() -> None:
        lines, decoder = decoders.SSELineDecoder(), decoders.SSEDecoder()
        for chunk in chunks:
            for line in lines.decode(chunk.decode()):
                decoder.decode(line)

    async def ours() -> None:
        reader = EventReader()
        for chunk in chunks:
            reader.feed(chunk)

    await pair("an event of a stream (httpx-sse)", 2000, library, ours)


async def pokes(url: str) -> None:
    address, options = for_celery(SecretStr(url))
    with (
        Connection(url, transport=kombu_redis.Transport) as theirs,
        Connection(address, transport_options=options) as own,
    ):

        def publishing(connection: Connection) -> Work:
            producer = Producer(connection.default_channel)

            async def work() -> None:
                for _ in range(300):
                    producer.publish({"id": "c0ffee"}, routing_key="bench", exchange="", serializer="json")

            return work

        await pair("a message published (kombu's transport)", 300, publishing(theirs), publishing(own))


class _Socket(asyncio.Transport):
    """Takes what is written, and is never closed."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "socket" else default

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 8000

    getpeername = getsockname

    def setsockopt(self, *_words: int) -> None:
        pass

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


async def heads() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    config = Config(app, access_log=False, log_config=None, lifespan="off")
    config.load()
    request = b"POST /webhooks/meta HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: sha256=0\r\ncontent-length: 2\r\n\r\n{}"

    def posts(kind: type[HttpToolsProtocol]) -> Work:
        protocol = kind(config=config, server_state=ServerState(), app_state={})
        protocol.connection_made(_Socket())

        async def work() -> None:
            for _ in range(1000):
                protocol.data_received(request)
                for _ in range(3):
                    await asyncio.sleep(0)

        return work

    await pair("a POST in one piece (uvicorn's protocol)", 1000, posts(HttpToolsProtocol), posts(BoundedHead))


async def main(measures: Sequence[Callable[[], Awaitable[None]]]) -> None:
    for measure in measures:
        await measure()


if __name__ == "__main__":
    with EmbeddedValkey() as valkey:
        asyncio.run(main([waits, partial(calls, valkey.url), events, partial(pokes, valkey.url), heads]))
