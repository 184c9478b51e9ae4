"""No test asks for an absolute time or passes on a port that it has let go of; and the finder finds both."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clock_rules import absolute_times
from tests.port_rules import ports_let_go
from tests.rooms import COMMANDS, PRODUCT, ROOT

YARDSTICKS = {ROOT / "tests" / name for name in ("growth.py", "waiting.py")}
PURE = ROOT / "tests" / "bot"  # its seconds are planned ones: no clock goes into them
TRIES_AGAIN = {ROOT / "runtime" / "embedded.py"}

BAD = [
    """
started = time.monotonic()
act()
assert time.monotonic() - started < 2
""",
    """
begun = process_time()
act()
if process_time() - begun > LIMIT:
    pytest.fail("slow")
""",
    """
def post():
    started = time.monotonic()
    return send(), time.monotonic() - started

status, seconds = post()
assert seconds < 2
""",
    """
slowest = 0.0
async def others():
    nonlocal slowest
    started = time.perf_counter()
    slowest = max(slowest, time.perf_counter() - started)

assert slowest < 0.5
""",
    """
def seconds():
    started = time.perf_counter()
    return time.perf_counter() - started

assert min(seconds() for _ in range(20)) < 0.005
""",
    """
async def seconds():
    began = loop.time()
    return loop.time() - began

took = asyncio.run(seconds())
assert took <= 1
""",
    "assert abs(await due_at(scripts) - now_ms() - 60_000) < 5_000",
    "assert due_ms > now_ms() + 20_000",
    "assert limit + 5 <= now_ms() / 1000 - since_ms / 1000 < limit + 30",
    """
moments = []
for _ in range(90):
    seconds, micros = await scripts.command("TIME")
    moments.append(int(seconds) + int(micros) / 1e6)
assert all(later - earlier > 0.99 for earlier, later in zip(moments, moments[100:]))
""",
    """
deadline = time.monotonic() + 2
act()
assert time.monotonic() < deadline
""",
    "assert completion.seconds < 10",
    "assert 0.19 < caught.value.seconds < 10",
    "assert sum(attempt.seconds for attempt in attempts) < 3.9",
    "assert record['seconds'] < 1.5",
]
GOOD = [
    """
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    pass
""",
    """
alone, together = await seconds_of(1), await seconds_of(20)
async def seconds_of(callers):
    began = time.monotonic()
    return time.monotonic() - began
assert together <= 3 * alone
""",
    """
before = now_ms()
act()
assert before + 60_000 <= due_ms <= now_ms() + 60_000
""",
    """
at_ms = now_ms() - 3_600_000
assert due_ms == at_ms + WINDOW_MS
""",
    """
day = await store.hgetall(f"day:{now_ms()}")
assert int(day["cost"]) >= 30
""",
    "assert growth(act, make, 500) <= MOST",
    "assert completion.seconds > 0.4",
    "assert Limits().store_seconds < 2",
    "assert len(calls) < 3",
    "assert parse_hours(text).holds(at(hour).time()) > 0",
]
LET_GO = [
    """
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
""",
    """
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
""",
    """
def test():
    with closing(socket.create_server(("127.0.0.1", 0))) as unused:
        port = unused.getsockname()[1]
    connect(port)
""",
]
HELD = [
    """
def test():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect(port)
""",
    """
def test():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        process = start(PORT=str(taken.getsockname()[1]))
    assert process.returncode == 1
""",
    """
def reserved():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        yield port
""",
]


def found(rule: Callable[[str], list[int]], *rooms: str, without: set[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for room in rooms
        for path in sorted((ROOT / room).rglob("*.py"))
        if not without & {path, *path.parents}
        for line in rule(path.read_text(encoding="utf-8"))
    ]


def test_no_test_asks_for_an_absolute_time() -> None:
    assert found(absolute_times, "tests", without=YARDSTICKS | {PURE}) == []


def test_no_pure_test_looks_at_a_clock() -> None:
    assert not [path.name for path in PURE.glob("*.py") if "import time" in path.read_text(encoding="utf-8")]


def test_nothing_passes_on_a_port_that_it_has_let_go_of() -> None:
    assert found(ports_let_go, "tests", "benchmarks", *COMMANDS, *PRODUCT, without=TRIES_AGAIN) == []


@pytest.mark.parametrize("source", BAD)
def test_an_absolute_time_is_found(source: str) -> None:
    assert absolute_times(source)


@pytest.mark.parametrize("source", GOOD)
def test_what_holds_on_any_machine_is_let_pass(source: str) -> None:
    assert absolute_times(source) == []


@pytest.mark.parametrize("source", LET_GO)
def test_a_port_that_was_let_go_of_is_found(source: str) -> None:
    assert ports_let_go(source)


@pytest.mark.parametrize("source", HELD)
def test_a_port_that_is_held_is_let_pass(source: str) -> None:
    assert ports_let_go(source) == []
