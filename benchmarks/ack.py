"""Webhook acknowledgement: the receiver process against the same stack answering a bare 200, and against Flask."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from benchmarks.posts import ENVIRONMENT, SECRET
from benchmarks.processes import answers, cpu_seconds, pin, python, run_json, started, tree
from benchmarks.report import Report, Scale, median, ratio, spread
from sandbox.ports import reserved_port
from sandbox.stack import Stack

CONNECTIONS = 64
SERVER_CORE, OTHERS_CORE = 0, 1
STORED = "receiver: signature, parse, stored"
ALWAYS = "the same, appendfsync always"
STARLETTE = "Starlette, bare 200"
RAW = "raw ASGI, bare 200"
FLASK = "Flask + gunicorn, 16 threads, same duties"


@dataclass(slots=True)
class Server:
    """One line of the table; the lists hold one value for each round."""

    port: int
    pid: int
    rate: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    store_us: list[float] = field(default_factory=list)
    failures: float = 0


def run(scale: Scale, directory: Path) -> Report:
    report = Report(
        "ack",
        "Webhook acknowledgement, one server process",
        (
            "requests/s",
            "range",
            "p50 ms",
            "p99 ms",
            "server CPU us",
            "Redis CPU us",
            "x Starlette",
            "x raw",
            "CPU x Starlette",
        ),
    )
    with ExitStack() as stack:
        house = stack.enter_context(Stack(directory / "ack", processes=("web",), environment=ENVIRONMENT))
        store = stack.enter_context(redis.Redis.from_url(house.valkey.url, decode_responses=True))
        servers = stack.enter_context(_floors(directory))
        pid = house.running["web"].pid
        servers |= {STORED: Server(house.web_port, pid), ALWAYS: Server(house.web_port, pid)}
        if flask := _flask(scale, directory, house.valkey.url, report, stack):
            servers[FLASK] = flask
        _single_events(scale, servers, store, house.valkey.pid)
        _tell(report, servers)
        _batches(scale, report, servers[STORED], store, house.valkey.pid)
    report.notes.append(
        f"{CONNECTIONS} connections in a closed loop. Each server has a core to itself, as on any machine with more of "
        "them than two; the load, from one Python process, shares the other one with Redis."
    )
    return report


@contextmanager
def _floors(directory: Path) -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name, app in ((STARLETTE, "starlette"), (RAW, "raw")):
            port, log = stack.enter_context(reserved_port()), directory / f"floor-{app}.log"
            process = stack.enter_context(started(python("benchmarks.programs.floor", app, port), log=log))
            answers(f"http://127.0.0.1:{port}/", process, log=log)
            servers[name] = Server(port, process.pid)
        yield servers


def _flask(scale: Scale, directory: Path, url: str, report: Report, stack: ExitStack) -> Server | None:
    if not scale.peers_python:
        report.notes.append("Flask + gunicorn: skipped, no interpreter with the peers was named (--peers).")
        return None
    port, log = stack.enter_context(reserved_port()), directory / "flask.log"
    command = [
        *python("gunicorn", "-k", "gthread", "--threads", 16, "-w", 1, interpreter=scale.peers_python),
        *("-b", f"127.0.0.1:{port}", "--backlog", "2048", "benchmarks.peers.flask_receiver:app"),
    ]
    environment = {"REDIS_URL": url.replace("/0", "/1"), "APP_SECRET": SECRET}
    process = stack.enter_context(started(command, log=log, env=environment))
    answers(f"http://127.0.0.1:{port}/", process, log=log)
    return Server(port, process.pid)


def _single_events(scale: Scale, servers: dict[str, Server], store: "redis.Redis", store_pid: int) -> None:
    seconds = scale.of(tiny=0.1, quick=1, full=3)
    counts = {name: scale.count(tiny=4000, quick=16_000, full=45_000) for name in servers}
    for round_ in range(scale.count(tiny=1, quick=2, full=7)):
        # Each round in the other direction, so that no server always runs first.
        for name in list(servers)[:: 1 if round_ % 2 else -1]:
            store.flushall()
            store.config_set("appendfsync", "always" if name == ALWAYS else "everysec")
            _measure(servers[name], store_pid, seconds=seconds, count=counts[name])
    store.config_set("appendfsync", "everysec")


def _measure(
    server: Server, store_pid: int, *, seconds: float, count: int, events: int = 1, connections: int = CONNECTIONS
) -> dict[str, Any]:
    pids = tree(server.pid)
    pin(SERVER_CORE, *pids)
    pin(OTHERS_CORE, store_pid)
    before, store_before = cpu_seconds(*pids), cpu_seconds(store_pid)
    result: dict[str, Any] = run_json(
        python("benchmarks.programs.load", server.port, connections, seconds, count, events, OTHERS_CORE)
    )
    server.rate.append(result["rate"])
    server.p50_ms.append(result["p50_ms"])
    server.p99_ms.append(result["p99_ms"])
    server.cpu_us.append((cpu_seconds(*pids) - before) / result["sent"] * 1e6)
    server.store_us.append((cpu_seconds(store_pid) - store_before) / result["sent"] * 1e6)
    server.failures += result["failures"]
    return result


def _tell(report: Report, servers: dict[str, Server]) -> None:
    starlette, raw = servers[STARLETTE], servers[RAW]
    for name, server in servers.items():
        report.row(
            name,
            median(server.rate),
            spread(server.rate),
            median(server.p50_ms),
            median(server.p99_ms),
            median(server.cpu_us),
            median(server.store_us),
            ratio(server.rate, starlette.rate),
            ratio(server.rate, raw.rate),
            ratio(starlette.cpu_us, server.cpu_us),
        )
        if server.failures:
            report.notes.append(f"{name}: {server.failures:.0f} requests were not answered with 200")
    ours = servers[STORED]
    report.at_least("acknowledgement, rate against Starlette's bare 200", ratio(ours.rate, starlette.rate), 0.5)
    raw_ratio = ratio(ours.rate, raw.rate)
    report.at_least("acknowledgement, rate against raw ASGI's bare 200", raw_ratio, 0.6, stretch=True)
    cpu_ratio = ratio(starlette.cpu_us, ours.cpu_us)
    report.at_least("the same by CPU, which a busy machine hardly moves", cpu_ratio, 0.5)
    report.at_most("its p99 against Starlette's", ratio(ours.p99_ms, starlette.p99_ms), 2.5)
    report.at_least("appendfsync always, rate against everysec", ratio(servers[ALWAYS].rate, ours.rate), 0.85)
    if FLASK in servers:
        report.at_least("rate against Flask + gunicorn", ratio(ours.rate, servers[FLASK].rate), 4)


def _batches(scale: Scale, report: Report, single: Server, store: "redis.Redis", store_pid: int) -> None:
    """One connection at a time: what a POST of many events costs by itself."""
    by_size: dict[int, Server] = {}
    for events in (1, 10, 100, 1000):
        server = by_size[events] = Server(single.port, single.pid)
        for _ in range(scale.count(tiny=1, quick=1, full=5)):
            store.flushall()
            seconds = scale.of(tiny=0.3, quick=1, full=3)
            _measure(server, store_pid, seconds=seconds, count=_enough(events, seconds), events=events, connections=1)
        report.row(
            f"POST of {events}, one connection",
            median(server.rate),
            spread(server.rate),
            median(server.p50_ms),
            median(server.p99_ms),
            median(server.cpu_us),
            median(server.store_us),
            "",
            "",
            "",
        )
    trips: list[float] = []
    for _ in range(3):  # the least of them: what watches the house calls in between, every few seconds
        calls = _script_calls(store)
        sent = _measure(by_size[100], store_pid, seconds=0.3, count=40, events=100, connections=1)["sent"]
        trips.append((_script_calls(store) - calls) / sent)
    report.at_most("Redis round trips of a POST of 100 events", min(trips), 1)
    one, ten, thousand = (median(by_size[n].cpu_us) for n in (1, 10, 1000))
    report.at_most("receiver CPU of 10 events against 1", ten / one, 3)
    report.at_most("receiver CPU an event, 1000 events against 10", (thousand / 1000) / (ten / 10), 1)
    report.at_most("a POST of 1000 events, milliseconds", median(by_size[1000].p50_ms), 80)


def _enough(events: int, seconds: float) -> int:
    return int((seconds * 1.2 + 0.3) * {1: 3000, 10: 1200, 100: 250, 1000: 40}[events]) + 5


def _script_calls(store: "redis.Redis") -> int:
    return sum(int(s["calls"]) for name, s in store.info("commandstats").items() if name == "cmdstat_evalsha")
