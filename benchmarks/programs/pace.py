"""`python -m benchmarks.programs.pace PORT RATE COUNT EVENTS`: POSTs at a steady rate, whatever the answers take.

RATE 0 sends everything at once over eight connections. Prints when each customer's POST began (monotonic seconds,
which all processes share) and how long the answers took.
"""

import asyncio
import json
import sys
import time
from collections import deque

import uvloop

from benchmarks.posts import ACCOUNT, MESSENGER, body, customers, request

_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pacer:
    def __init__(self, port: int) -> None:
        self._port = port
        self._free: deque[_Stream] = deque()
        self.began: dict[str, float] = {}
        self.ack_ms: list[float] = []
        self.refused = 0

    async def post(self, people: list[str], content: bytes) -> None:
        began = time.monotonic()
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(content)
        head = await reader.readuntil(b"\r\n\r\n")
        at = head.lower().find(b"content-length:")
        await reader.readexactly(int(head[at + 15 :].split(b"\r\n", 1)[0]))
        self.ack_ms.append((time.monotonic() - began) * 1000)
        self._free.append((reader, writer))
        if head.startswith(b"HTTP/1.1 200 "):
            self.began |= dict.fromkeys(people, began)
        else:
            self.refused += 1

    async def run(self, rate: float, posts: list[tuple[list[str], bytes]]) -> None:
        if rate == 0:
            left = deque(posts)
            await asyncio.gather(*(self._drain(left) for _ in range(8)))
        else:
            start = time.monotonic() + 0.05
            async with asyncio.TaskGroup() as group:
                for number, post in enumerate(posts):
                    await asyncio.sleep(max(start + number / rate - time.monotonic(), 0))
                    group.create_task(self.post(*post))
        for _, writer in self._free:
            writer.close()

    async def _drain(self, left: deque[tuple[list[str], bytes]]) -> None:
        while left:
            await self.post(*left.popleft())


def main() -> None:
    port, rate, count, events = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    crowds = [customers(events) for _ in range(count)]
    # To two accounts in turn: replies to one alone would be paced by the limit that Meta sets for it.
    posts = [(people, request(body(people, (ACCOUNT, MESSENGER)[i % 2]))) for i, people in enumerate(crowds)]
    pacer = Pacer(port)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(pacer.run(rate, posts))
    print(json.dumps({"began": pacer.began, "ack_ms": sorted(pacer.ack_ms), "refused": pacer.refused}))  # noqa: T201


if __name__ == "__main__":
    main()
