"""From the start of a POST to the arrival of the answer at the Graph API, with no debounce and no model time."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.posts import ENVIRONMENT
from benchmarks.processes import answers, cpu_seconds, python, run_json, started
from benchmarks.report import Report, Scale, median, ratio, spread
from benchmarks.turn import other_side
from sandbox.ports import reserved_port
from sandbox.stack import Stack

HOUSE = "receiver, dispatcher, Celery worker"
INSIDE = "the same work in the receiver's process (not durable)"
CONSUMER = "receiver, Redis list, bare asyncio consumer that polls every 10 ms (not durable)"
WOKEN = "the same, woken by each (keeps no deadlines)"
RATES = (20, 100)
WARM_UP_POSTS = 10


@dataclass(slots=True)
class Way:
    port: int
    pids: Mapping[str, int]
    p50_ms: dict[int, list[float]] = field(default_factory=dict)
    p99_ms: dict[int, list[float]] = field(default_factory=dict)
    ack_ms: dict[int, list[float]] = field(default_factory=dict)
    cpu_ms: dict[int, list[dict[str, float]]] = field(default_factory=dict)
    missing: int = 0

    def forget(self) -> None:
        for figures in (self.p50_ms, self.p99_ms, self.ack_ms, self.cpu_ms):
            figures.clear()


def run(scale: Scale, directory: Path) -> Report:
    report = Report(
        "dispatch",
        "POST to Graph call: debounce 0, model time 0, task events on",
        ("p50 ms", "p99 ms", "p99 range", "ack p50 ms", "CPU ms a message"),
    )
    with ExitStack() as stack:
        url = stack.enter_context(other_side(directory))
        addresses = {"LLM_API_URL": f"{url}/plain", "GRAPH_API_URL": url, "INSTAGRAM_API_URL": url, **ENVIRONMENT}
        house = stack.enter_context(Stack(directory / "house", quiet=0, max_wait=0, environment=addresses))
        pids = {name: process.pid for name, process in house.running.items()}
        ways = {
            HOUSE: Way(house.web_port, pids | {"Redis": house.valkey.pid}),
            **_shortcuts(scale, directory, house, stack),
        }
        for way in ways.values():
            _measure(way, 20, scale.count(tiny=2, quick=WARM_UP_POSTS, full=WARM_UP_POSTS), url)
            way.forget()
        seconds = scale.of(tiny=0.3, quick=2.5, full=15)
        for round_ in range(scale.count(tiny=1, quick=1, full=5)):
            for rate in RATES:
                for name in list(ways)[:: 1 if round_ % 2 else -1]:
                    _measure(ways[name], rate, int(rate * seconds), url)
    _tell(report, ways)
    return report


def _shortcuts(scale: Scale, directory: Path, house: Stack, stack: ExitStack) -> dict[str, Way]:
    """Each in a database of its own, where no dispatcher looks."""
    ways: dict[str, Way] = {}
    consumers = {CONSUMER: "poll"} | ({WOKEN: "wait"} if scale.name == "full" else {})
    for database, name in enumerate([INSIDE, *consumers], start=1):
        env = house.environment | {"REDIS_URL": house.valkey.url.removesuffix("/0") + f"/{database}"}
        how, consumes = "inside" if name == INSIDE else "push", consumers.get(name)
        port, log = stack.enter_context(reserved_port()), directory / f"{how}-{database}.log"
        process = stack.enter_context(started(python("benchmarks.shortcuts", how, port), log=log, env=env))
        answers(f"http://127.0.0.1:{port}/", process, log=log)
        pids = {"web": process.pid, "Redis": house.valkey.pid}
        if consumes:
            command = python("benchmarks.shortcuts", consumes)
            consumer = started(command, log=directory / f"{consumes}.log", env=env)
            pids["consumer"] = stack.enter_context(consumer).pid
        ways[name] = Way(port, pids)
    return ways


def _measure(way: Way, rate: int, count: int, url: str) -> None:
    before = {name: cpu_seconds(pid) for name, pid in way.pids.items()}
    sent = run_json(python("benchmarks.programs.pace", way.port, rate, count, 1))
    if sent["refused"]:
        raise RuntimeError(f"{sent['refused']} of {count} POSTs were refused")
    arrived = arrivals(url, sent["began"], seconds=20)
    took = sorted((arrived[who] - began) * 1000 for who, began in sent["began"].items() if who in arrived)
    way.missing += count - len(took)
    used = {name: (cpu_seconds(pid) - before[name]) / count * 1000 for name, pid in way.pids.items()}
    way.p50_ms.setdefault(rate, []).append(took[len(took) // 2])
    way.p99_ms.setdefault(rate, []).append(took[min(int(len(took) * 0.99), len(took) - 1)])
    way.ack_ms.setdefault(rate, []).append(sent["ack_ms"][count // 2])
    way.cpu_ms.setdefault(rate, []).append(used)


def arrivals(url: str, expected: Mapping[str, float], *, seconds: float, verify: bool = True) -> dict[str, float]:
    """When each customer's answer came, once all are there or the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        found: dict[str, float] = httpx.get(f"{url}/arrivals", trust_env=False, verify=verify, timeout=30).json()
        if expected.keys() <= found.keys() or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def _tell(report: Report, ways: dict[str, Way]) -> None:
    for rate in RATES:
        for name, way in ways.items():
            used = {part: median([one[part] for one in way.cpu_ms[rate]]) for part in way.pids}
            report.row(
                f"{rate}/s: {name}",
                median(way.p50_ms[rate]),
                median(way.p99_ms[rate]),
                spread(way.p99_ms[rate]),
                median(way.ack_ms[rate]),
                ", ".join(f"{part} {ms:.1f}" for part, ms in used.items()),
            )
    house, inside, consumer = ways[HOUSE], ways[INSIDE], ways[CONSUMER]
    report.at_most("20/s, p50 against the work inside the receiver", ratio(house.p50_ms[20], inside.p50_ms[20]), 3)
    report.at_most("20/s, p99 against the work inside the receiver", ratio(house.p99_ms[20], inside.p99_ms[20]), 4)
    report.at_most("100/s, p99 against a bare asyncio consumer", ratio(house.p99_ms[100], consumer.p99_ms[100]), 1.5)
    report.at_most("answers that never came", sum(way.missing for way in ways.values()), 0)
