"""`python -m benchmarks.load PORT CONNECTIONS SECONDS COUNT EVENTS`: a closed loop of signed POSTs, its own process.

Each connection sends its next request when the last one is answered. One such process makes about 25,000 requests a
second at the most on a slow core: enough for one server process in Python, not for nginx. The requests are made
before the clock starts; when all COUNT are sent the run ends, so no message is ever a duplicate.
"""

import asyncio
import json
import sys
import time
from collections import deque
from typing import cast

import uvloop

from benchmarks.posts import requests

WARM_UP_SECONDS = 0.3


class _Connection(asyncio.Protocol):
    def __init__(self, run: "_Run") -> None:
        self._run = run
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is no subclass of it
        self._next()

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or len(buffer) < end + 4 + _content_length(buffer[:end]):
            self._buffer = buffer
            return
        self._buffer = b""
        self._run.answered(time.perf_counter(), self._sent_at, buffer.startswith(b"HTTP/1.1 200 "))
        self._next()

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self._run.over:
            self._run.failures += 1
        self._run.leave()

    def _next(self) -> None:
        assert self._transport is not None  # noqa: S101 - set when the connection was made
        if self._run.over or not self._run.left:
            self._run.finish()
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(self._run.left.popleft())


class _Run:
    def __init__(self, left: deque[bytes], connections: int, seconds: float) -> None:
        self.left = left
        self.over = False
        self.failures = 0
        self.seconds: list[float] = []
        self.ended = asyncio.Event()
        self._connections = connections
        self.counts_from = time.perf_counter() + min(WARM_UP_SECONDS, seconds / 5)
        self._ends_at = self.counts_from + seconds
        self.last = self.counts_from

    def answered(self, now: float, sent_at: float, ok: bool) -> None:
        self.failures += not ok
        if now > self._ends_at:
            self.finish()
        elif sent_at >= self.counts_from:
            self.seconds.append(now - sent_at)
            self.last = now

    def finish(self) -> None:
        self.over = True

    def leave(self) -> None:
        self._connections -= 1
        if not self._connections:
            self.ended.set()


def _content_length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    return int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


async def drive(port: int, connections: int, seconds: float, left: deque[bytes]) -> dict[str, float]:
    """Requests per second, their median and 99th percentile in milliseconds, failures, how many were sent in all."""
    loop = asyncio.get_running_loop()
    sent = len(left)
    run = _Run(left, connections, seconds)
    for _ in range(connections):
        await loop.create_connection(lambda: _Connection(run), "127.0.0.1", port)
    async with asyncio.timeout(seconds + 60):
        await run.ended.wait()
    times = sorted(run.seconds)
    if not times:
        raise RuntimeError("nothing was answered after the warm-up: more requests are needed")
    return {
        "rate": len(times) / max(run.last - run.counts_from, 1e-6),
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[min(int(len(times) * 0.99), len(times) - 1)] * 1000,
        "failures": run.failures,
        "sent": sent - len(left),
        "ran_out": not left,
    }


def main() -> None:
    port, connections, seconds, count, events = sys.argv[1:6]
    left = deque(requests(int(count), events=int(events)))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(drive(int(port), int(connections), float(seconds), left))
    print(json.dumps(result | {"cpu_seconds": time.process_time()}))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
