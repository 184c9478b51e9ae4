"""The debounce schedule: what waiting costs, how late a burst's end is noticed, and what is taken out in one go."""

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import redis

from benchmarks.posts import ACCOUNT, ENVIRONMENT, body, customers, request
from benchmarks.processes import cpu_seconds
from benchmarks.programs.pace import Pacer
from benchmarks.report import Report, Scale, median, spread
from bot.incoming.events import conversation_id
from runtime.embedded import EmbeddedValkey
from runtime.queue import TURNS
from sandbox.stack import Stack
from store.connection import connect
from store.keys import DUE, HANDED, celery_key
from store.schedule import Schedule
from store.scripts import Scripts

POKES = celery_key(TURNS)  # the Celery queue as it stands in Redis
FAR_AWAY_MS = 86_400_000


def run(scale: Scale, directory: Path) -> Report:
    report = Report("schedule", "The debounce schedule", ("median", "range", "unit"))
    _at_rest(scale, directory, report)
    _lateness(scale, directory, report)
    _waiting(scale, report)
    return report


def _at_rest(scale: Scale, directory: Path, report: Report) -> None:
    """Nothing is due: what dispatcher and Redis use, the worker's own waiting for tasks included."""
    seconds, shares = scale.of(tiny=1, quick=4, full=15), []
    with Stack(directory / "rest") as house:
        time.sleep(min(seconds, 3))
        for _ in range(scale.count(tiny=1, quick=1, full=3)):
            dispatcher, store = house.running["dispatcher"].pid, house.valkey.pid
            before, began = cpu_seconds(dispatcher, store), time.monotonic()
            time.sleep(seconds)
            shares.append((cpu_seconds(dispatcher, store) - before) / (time.monotonic() - began) * 100)
    report.row("dispatcher and Redis, nothing due", median(shares), spread(shares), "% of a core")
    report.at_most("dispatcher and Redis at rest, % of a core", median(shares), 2)


def _lateness(scale: Scale, directory: Path, report: Report) -> None:
    """From the moment a conversation is due to its poke in the Celery queue; we stand in for the worker."""
    with (
        Stack(
            directory / "late", processes=("web", "dispatcher"), quiet=0.15, max_wait=1, environment=ENVIRONMENT
        ) as house,
        redis.Redis.from_url(house.valkey.url, decode_responses=True) as store,
    ):
        late = asyncio.run(_late_ms(house.web_port, store, scale.count(tiny=3, quick=12, full=60)))
    late.sort()
    report.row("burst is over to poke in the queue", median(late), spread(late), "ms")
    report.at_most("delay the schedule adds at the median, ms", median(late), 5)


async def _late_ms(port: int, store: "redis.Redis", samples: int) -> list[float]:
    pacer, late = Pacer(port), []
    for number in range(samples + 2):
        (who,) = customers(1)
        cid = conversation_id(ACCOUNT.channel, ACCOUNT.id, who)
        await pacer.post([who], request(body([who])))
        due_ms: Any = store.zscore(DUE, cid)
        if await asyncio.to_thread(store.blpop, [POKES], 5) is None:
            raise RuntimeError("the dispatcher sent no poke within five seconds")
        now_ms = time.time() * 1000
        store.zrem(DUE, cid)
        store.zrem(HANDED, cid)
        if number >= 2:  # the first ones connect
            late.append(now_ms - float(due_ms))
    return late


def _waiting(scale: Scale, report: Report) -> None:
    """The pop script alone, by the server's own command statistics."""
    sizes = scale.of(tiny=2000, quick=100_000, full=1_000_000)
    counts = [1000, *(size for size in (100_000,) if size < sizes), int(sizes)]
    rounds = scale.count(tiny=1, quick=1, full=5)
    idle: dict[int, list[float]] = {}
    with EmbeddedValkey() as valkey:
        for _ in range(rounds):
            for count in counts:
                figures = asyncio.run(
                    _script_costs(valkey.url, count, rounds=scale.count(tiny=20, quick=200, full=500))
                )
                idle.setdefault(count, []).append(figures["idle_us"])
                last = figures
                if _ == rounds - 1:
                    report.row(f"{count:,} waiting: look, nothing due", median(idle[count]), spread(idle[count]), "us")
                    report.row(f"{count:,} waiting: take 100 that are due, each", last["pop_us"], "", "us")
                    report.row(f"{count:,} waiting: memory of each", last["bytes"], "", "bytes")
    report.at_most(
        f"a look at {counts[-1]:,} waiting against 1,000", median(idle[counts[-1]]) / median(idle[1000]), 1.5
    )
    report.at_most("memory of one that waits, bytes", last["bytes"], 200)


async def _script_costs(url: str, waiting: int, *, rounds: int) -> dict[str, float]:
    client = connect(url, max_connections=2, timeout_seconds=120)
    try:
        await client.flushall()
        empty = (await client.info("memory"))["used_memory"]
        now_ms = int(time.time() * 1000)
        for start in range(0, waiting, 10_000):
            members = {secrets.token_hex(8): now_ms + FAR_AWAY_MS + i for i in range(min(10_000, waiting - start))}
            await client.zadd(DUE, members)
        full = (await client.info("memory"))["used_memory"]
        schedule = Schedule(Scripts(client))
        await schedule.pop_due(limit=1, quota=1)
        idle = await _script_us(client, schedule, rounds)
        first: Any = await client.zrange(DUE, 0, min(waiting, 5000) - 1)
        due: dict[str, float] = dict.fromkeys(first, now_ms - 1000)
        await client.zadd(DUE, due)
        pops = max(len(due) // 100, 1)
        popped = await _script_us(client, schedule, pops)
        return {"idle_us": idle, "pop_us": popped / min(100, len(due)), "bytes": (full - empty) / waiting}
    finally:
        await client.aclose()


async def _script_us(client: Any, schedule: Schedule, times: int) -> float:
    await client.config_resetstat()
    for _ in range(times):
        await schedule.pop_due(limit=100, quota=1_000_000)
    stats = (await client.info("commandstats"))["cmdstat_evalsha"]
    return float(stats["usec"]) / int(stats["calls"])
