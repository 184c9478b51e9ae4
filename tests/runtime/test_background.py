"""Work beside the main work goes on, whatever happens in it, until it is told to end."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from runtime.background import OVER, Background, Over, repeat, start_thread
from store.connection import StoreUnavailable
from tests.rooms import ROOT, sources

pytestmark = pytest.mark.anyio


class Script:
    """An iteration that does what it is told: raises what stands in the list, then ends the job."""

    def __init__(self, *steps: BaseException | None) -> None:
        self.steps = list(steps)
        self.begun = 0

    async def __call__(self) -> Over | None:
        self.begun += 1
        if not self.steps:
            return OVER
        step = self.steps.pop(0)
        if step is not None:
            raise step
        return None


async def counted(counts: Counter[str]) -> Callable[[str, int], Awaitable[None]]:
    async def count(name: str, failures: int) -> None:
        counts[name] += failures

    return count


async def run(script: Script, **more: object) -> None:
    async with asyncio.timeout(20):
        await repeat("job", script, every_seconds=0, longest_wait_seconds=0.001, **more)  # type: ignore[arg-type]


async def test_a_job_outlives_whatever_its_iterations_raise() -> None:
    counts: Counter[str] = Counter()
    script = Script(ValueError("a bug"), None, StoreUnavailable("BUSY"), KeyError("another"), RecursionError())

    await run(script, count=await counted(counts))

    assert script.begun == 6
    assert counts == {"job": 4}


async def test_trouble_is_said_once_for_each_kind_and_when_it_is_over() -> None:
    failures = [StoreUnavailable("BUSY"), StoreUnavailable("TimeoutError"), *(ValueError(f"bug {n}") for n in range(3))]
    with capture_logs() as logs:
        await run(Script(*failures, None))

    said = [(line["event"], line.get("error"), line.get("failed_rounds")) for line in logs]
    assert said == [
        ("background_job_waits", "StoreUnavailable", None),
        ("background_job_failed", "ValueError", None),
        ("background_job_recovered", None, 5),
    ]


async def test_trouble_that_comes_and_goes_is_not_said_each_time() -> None:
    with capture_logs() as logs:
        await run(Script(*[StoreUnavailable("BUSY"), None] * 50))

    assert len(logs) == 2


async def test_failures_are_counted_later_where_the_books_are_away() -> None:
    counts: Counter[str] = Counter()
    away = 2

    async def count(name: str, failures: int) -> None:
        nonlocal away
        if away:
            away -= 1
            raise RuntimeError("no books")
        counts[name] += failures

    await run(Script(ValueError(), ValueError(), ValueError(), None), count=count)

    assert counts == {"job": 3}


async def test_what_the_iteration_waited_for_may_be_cancelled_and_the_job_goes_on() -> None:
    script = Script(asyncio.CancelledError(), None)

    await run(script)

    assert script.begun == 3


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_cancelled_job_ends_also_when_a_library_swallows_it(swallows: bool) -> None:
    begun = asyncio.Event()

    async def iteration() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not swallows:
                raise

    job = asyncio.create_task(repeat("job", iteration, every_seconds=60))
    await begun.wait()
    job.cancel()

    await asyncio.wait({job}, timeout=20)
    assert job.cancelled()


async def test_an_iteration_that_hangs_is_cut_off() -> None:
    begun = 0

    async def iteration() -> Over:
        nonlocal begun
        begun += 1
        if begun == 1:
            await asyncio.Event().wait()
        return OVER

    async with asyncio.timeout(20):
        await repeat("job", iteration, every_seconds=0, limit_seconds=0.01)

    assert begun == 2


async def test_a_job_that_was_ended_by_others_is_noticed() -> None:
    background, begun = Background(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    with capture_logs() as logs:
        background.keep("job", work)
        await begun.wait()
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "job"]
        task.cancel()
        await asyncio.wait({task}, timeout=20)
        await background.aclose()

    assert [(line["event"], line["job"]) for line in logs] == [("background_job_ended", "job")]


async def test_closing_ends_all_of_them_without_a_word() -> None:
    background, begun = Background(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    with capture_logs() as logs:
        background.keep("one", work)
        background.keep("other", work)
        await begun.wait()
        await background.aclose()

    assert logs == []
    assert not [task for task in asyncio.all_tasks() if task.get_name() in ("one", "other")]


async def test_a_thread_is_begun_anew_until_its_work_returns() -> None:
    ended, begun = threading.Event(), 0

    async def main() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise ValueError("a bug")
        ended.set()

    start_thread("a-test", main, again_seconds=0)

    assert await asyncio.to_thread(ended.wait, 20)
    assert begun == 3


# Whoever starts something beside the main work does it by `Background`; these are waited for by who has started them.
WAITED_FOR = {
    "runtime/background.py": 2,
    "runtime/cancelling.py": 1,
    "store/server/confirmation.py": 1,
    "store/incoming/inbox.py": 1,
    "store/schedule.py": 1,
    "store/server/multiplexed.py": 1,
    "dispatcher/rounds.py": 2,
    "webhooks/status/single_flight.py": 1,
    "worker/lease_keeper.py": 2,
    "worker/process/loop.py": 1,
    "worker/comments/private_replies.py": 1,
    "worker/process/self_check.py": 1,
    "worker/delivery/typing_indicator.py": 1,
}


def test_nothing_else_runs_beside_the_main_work() -> None:
    started = re.compile(r"\b(?:create_task|ensure_future|threading\.Thread|start_soon)\(")
    found = {str(file.relative_to(ROOT)): len(started.findall(file.read_text(encoding="utf-8"))) for file in sources()}

    assert {name: times for name, times in found.items() if times} == WAITED_FOR
