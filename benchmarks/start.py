"""Cold starts, imports, and what the whole system weighs when no customer writes."""

import sys
import time
from functools import partial
from pathlib import Path

import httpx
import redis

from benchmarks.processes import pss_megabytes, rss_megabytes, run_json, tree
from benchmarks.report import Report, Scale, median, spread
from sandbox.stack import Stack
from store.keys import ALIVE

ALL = ("web", "dispatcher", "worker", "beat", "flower")
TIMED = """
import json, time
wall, cpu = time.perf_counter(), time.process_time()
import {}
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""
FLOOR = "celery.bin.worker, kombu.transport.redis, httpx, httpx_aiohttp, pydantic, pydantic_settings, redis.asyncio"
WORKER = "celery.bin.worker, worker.tasks"


def run(scale: Scale, directory: Path) -> Report:
    report = Report("start", "Cold start, imports, memory at rest", ("median", "range", "unit"))
    ready = _starts(scale, directory, report)
    for name, seconds in ready.items():
        report.row(f"{name}: start to ready", median(seconds), spread(seconds), "s")
    slowest = max(ready, key=lambda name: median(ready[name]))
    report.at_most(f"slowest cold start ({slowest}), seconds", median(ready[slowest]), 3)
    _imports(scale, directory, report)
    return report


def _starts(scale: Scale, directory: Path, report: Report) -> dict[str, list[float]]:
    ready: dict[str, list[float]] = {name: [] for name in ALL}
    rounds = scale.count(tiny=1, quick=1, full=5)
    for round_ in range(rounds):
        with (
            Stack(directory / f"start-{round_}", processes=()) as house,
            redis.Redis.from_url(house.valkey.url, decode_responses=True) as store,
        ):
            for name in ALL:
                began = time.monotonic()
                house.spawn(name)
                house.wait_for(partial(_is_ready, name, house, store), f"{name} to be ready")
                ready[name].append(time.monotonic() - began)
            if round_ == rounds - 1:
                time.sleep(scale.of(tiny=0, quick=3, full=10))
                _weigh(house, report)
            house.running["flower"].kill()  # it asks the workers what they do, and does not end before it has given up
    return ready


def _is_ready(name: str, house: Stack, store: "redis.Redis") -> bool:
    if name == "web":
        return _answers(f"{house.url}/health/ready")
    if name == "flower":
        return _answers(f"http://127.0.0.1:{house.flower_port}/healthcheck")
    # The others say in Redis that they are at work.
    return any(str(member).startswith(f"{name} ") for member in store.zrange(ALIVE, 0, -1))


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _weigh(house: Stack, report: Report) -> None:
    pids = {name: tree(process.pid) for name, process in house.running.items()} | {"Valkey": [house.valkey.pid]}
    rss = {name: sum(map(rss_megabytes, found)) for name, found in pids.items()}
    for name, megabytes in rss.items():
        report.row(f"{name}: RSS at rest (PSS {sum(map(pss_megabytes, pids[name])):.0f})", megabytes, "", "MB")
    report.row("the whole stack at rest, RSS", sum(rss.values()), "", "MB")
    report.at_most("whole stack at rest, MB RSS", sum(rss.values()), 350)


def _imports(scale: Scale, directory: Path, report: Report) -> None:
    with Stack(directory / "imports", processes=()) as house:
        times: dict[str, list[float]] = {FLOOR: [], WORKER: []}
        # The libraries were compiled when they were installed; our own modules are at the first import, if it may.
        env = {**house.environment, "PYTHONDONTWRITEBYTECODE": ""}
        warm_up = scale.count(tiny=0, quick=1, full=1)
        for round_ in range(warm_up + scale.count(tiny=1, quick=3, full=10)):
            for what, found in times.items():
                import_cpu, _wall = run_json([sys.executable, "-c", TIMED.format(what)], env=env)
                if round_ >= warm_up:
                    found.append(import_cpu)
    report.row(
        "import of celery, the client, pydantic and redis alone", median(times[FLOOR]), spread(times[FLOOR]), "CPU s"
    )
    report.row("import of the worker", median(times[WORKER]), spread(times[WORKER]), "CPU s")
    report.at_most("worker import against its libraries alone", median(times[WORKER]) / median(times[FLOOR]), 1.5)
