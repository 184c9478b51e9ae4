"""`python -m benchmarks.programs.calls URL COUNT`: COUNT model calls at once on one loop, with the product's client."""

import asyncio
import json
import sys
import time

import uvloop

from benchmarks.processes import peak_megabytes, reset_peak, rss_megabytes
from clients.http import make_http_client
from clients.llm.client import Deadlines, LLMClient, ModelRequest

MESSAGES = [{"role": "system", "content": "Answer."}, {"role": "user", "content": "Good evening!"}]
LOOK_SECONDS = 0.005


async def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    request = ModelRequest("m", MESSAGES)
    patience = Deadlines(first_byte_seconds=60, idle_seconds=60, total_seconds=120, thinking_seconds=60)
    async with make_http_client() as http:
        llm = LLMClient(http, base_url=url, api_key="key")
        warm = LLMClient(http, base_url=url.rsplit("/wait/", 1)[0] + "/plain", api_key="key")
        await warm.complete(request, patience)
        stall = asyncio.create_task(_longest_stall())
        pid, cpu, began = "self", time.process_time(), time.monotonic()
        before = rss_megabytes(pid)
        reset_peak(pid)
        await asyncio.gather(*(llm.complete(request, patience) for _ in range(count)))
        wall = time.monotonic() - began
        used = time.process_time() - cpu
        peak = peak_megabytes(pid)
        stall.cancel()
        await asyncio.wait({stall})
    result = {
        "wall_seconds": wall,
        "cpu_ms": used / count * 1000,
        "kib": (peak - before) * 1024 / count,
        "peak_mb": peak,
        "stall_seconds": _stalls[0],
    }
    print(json.dumps(result))  # noqa: T201 - its answer


_stalls = [0.0]


async def _longest_stall() -> None:
    last = time.monotonic()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = time.monotonic()
        _stalls[0] = max(_stalls[0], now - last - LOOK_SECONDS)
        last = now


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
