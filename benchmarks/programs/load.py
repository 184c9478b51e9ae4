"""`python -m benchmarks.programs.load PORT CONNECTIONS SECONDS COUNT EVENTS CORE`: a closed loop of signed POSTs.

Each connection sends its next request when the last one is answered. One such process makes about 40,000 requests a
second at the most on a slow core: enough for one server process in Python, not for nginx. The requests are made
before the clock starts; when all COUNT are sent the run ends, so no message is ever a duplicate.
"""

import json
import os
import select
import socket
import sys
import time
from collections import deque

from benchmarks.posts import requests
from benchmarks.processes import pin

WARM_UP_SECONDS = 0.3
BEYOND_SECONDS = 60.0


class _Connection:
    """Plain calls on a socket that is known to be readable: an event loop would cost as much as what is measured."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._buffer = b""

    def send(self, request: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def read(self) -> bytes | None:
        """The whole answer, None while a part of it is missing; raise `ConnectionError` when there will be none."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError
        buffer = self._buffer + data
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or len(buffer) < end + 4 + _content_length(buffer[:end]):
            self._buffer = buffer
            return None
        self._buffer = b""
        return buffer


def _content_length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    return int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


def drive(port: int, connections: int, seconds: float, left: deque[bytes]) -> dict[str, float]:
    """Requests per second, their median and 99th percentile in milliseconds, failures, how many were sent in all."""
    count, failures = len(left), 0
    times: list[float] = []
    counts_from = time.perf_counter() + min(WARM_UP_SECONDS, seconds / 5)
    ends_at = counts_from + seconds
    last = counts_from
    open_ones: dict[int, _Connection] = {}
    with select.epoll() as readable:
        for _ in range(min(connections, len(left))):
            connection = _Connection(port)
            open_ones[connection.socket.fileno()] = connection
            readable.register(connection.socket, select.EPOLLIN)
            connection.send(left.popleft())
        while open_ones:
            ready = readable.poll(BEYOND_SECONDS)
            if not ready:
                raise TimeoutError("the server has stopped answering")
            for descriptor, _ in ready:
                connection = open_ones[descriptor]
                try:
                    answer = connection.read()
                except ConnectionError:
                    answer, failures = b"", failures + 1
                if answer is None:
                    continue
                now = time.perf_counter()
                if answer:
                    failures += not answer.startswith(b"HTTP/1.1 200 ")
                    if counts_from <= connection.sent_at and (now <= ends_at or not times):
                        times.append(now - connection.sent_at)
                        last = now
                    if left and (now <= ends_at or not times):  # a machine that is busy measures one at least
                        connection.send(left.popleft())
                        continue
                readable.unregister(descriptor)
                open_ones.pop(descriptor).socket.close()
    if not times:
        raise RuntimeError("nothing was answered after the warm-up: more requests are needed")
    times.sort()
    return {
        "rate": len(times) / max(last - counts_from, 1e-6),
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[min(int(len(times) * 0.99), len(times) - 1)] * 1000,
        "failures": failures,
        "sent": count - len(left),
        "ran_out": not left,
    }


def main() -> None:
    port, connections, seconds, count, events, core = sys.argv[1:7]
    pin(int(core), os.getpid())
    left = deque(requests(int(count), events=int(events)))
    result = drive(int(port), int(connections), float(seconds), left)
    print(json.dumps(result | {"cpu_seconds": time.process_time()}))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
