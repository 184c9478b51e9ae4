"""Work beside the main work goes on, whatever happens in it, until it is told to end."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from clients.graph.api import GraphAPI
from runtime.background import OVER, Background, Over, repeat, start_thread
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Environment, Settings
from store.accounts.ids import AccountIdStore
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing
from store.accounts.parking import Parking
from store.connection import StoreBroken, StoreUnavailable, connect
from store.failure_counts import count_in
from store.health import SystemHealth
from store.heartbeat import beat_for_ever
from store.inbox import Inbox
from store.known_messages import KnownMessages
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import EarlyEvents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from tests.rooms import ROOT, sources
from webhooks.account_id_discovery import Acquaintance
from webhooks.accounts import Accounts
from worker.account_ids import AccountIdsLearner
from worker.agent.generations import Generations
from worker.backfill.reading import Reading
from worker.backfill.unread_messages import UnreadReader
from worker.comments.private_replies import PrivateReplies

pytestmark = pytest.mark.anyio
LOGIN = Account(channel="instagram", login="instagram", id="26000000000000099", token=SecretStr("an-invented-token"))


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


# Each job there is, against a server on which somebody's script runs and runs.


@asynccontextmanager
async def busy(valkey: EmbeddedValkey, scripts: Scripts) -> AsyncIterator[None]:
    await scripts.command("CONFIG", "SET", "busy-reply-threshold", "1")
    somebody = connect(valkey.url, max_connections=1, timeout_seconds=60)
    script = asyncio.create_task(Scripts(somebody).command("EVAL", "while true do end", 0))
    try:
        async with asyncio.timeout(20):
            while not await is_busy(scripts):
                await asyncio.sleep(0.01)
        yield
        async with asyncio.timeout(20):
            while await is_busy(scripts):
                with suppress(StoreBroken):  # it has ended meanwhile
                    await scripts.command("SCRIPT", "KILL")
    finally:
        await asyncio.wait({script}, timeout=20)
        script.exception()
        await somebody.aclose()


async def is_busy(scripts: Scripts) -> bool:
    try:
        await scripts.command("GET", "ns:probe")
    except StoreUnavailable as exc:
        return str(exc) == "BUSY"
    return False


def jobs(
    scripts: Scripts, settings: Settings, http: httpx.AsyncClient
) -> dict[str, tuple[str, Callable[[], Awaitable[None]]]]:
    """Name in the books and the running of each job that asks Redis."""
    count = count_in(scripts)
    inbox, ids, pacing = Inbox(scripts, settings), AccountIdStore(scripts), Pacing(scripts)
    nowhere = Environment(instagram_api_url="http://127.0.0.1:9", graph_api_url="http://127.0.0.1:9")

    def graph(account: Account) -> GraphAPI:
        return GraphAPI(http, account=account, env=nowhere)

    reading = Reading(
        settings=settings,
        graph=graph,
        pacing=pacing,
        inbox=inbox,
        known=KnownMessages(scripts),
        ids=ids,
        now_ms=lambda: 1,
    )
    learner = AccountIdsLearner((LOGIN,), store=ids, graph=graph, learned=lambda *_: None)
    strangers = Acquaintance(
        Accounts((LOGIN,)), ids=ids, early=EarlyEvents(scripts), store=inbox, look_seconds=0.01, clock_ms=lambda: 1
    )
    replies = PrivateReplies(
        CommentOutbox(scripts),
        settings=settings,
        graph=graph,
        pacing=pacing,
        parking=Parking(scripts),
        now_ms=lambda: 1,
    )
    generations = Generations(scripts, http, base_url="http://127.0.0.1:9", api_key="", look_seconds=0.01)
    health = SystemHealth(scripts, settings)
    return {
        "heartbeat": ("heartbeat", lambda: beat_for_ever(health, "worker", period_seconds=0.01, count=count)),
        "generations": ("generations", lambda: generations.run(count=count)),
        "account_ids": (f"account_ids:{LOGIN.id}", lambda: learner.run(count=count)),
        "acquaintance": ("account_ids", lambda: strangers.run(count=count)),
        "first_seen": ("first_seen", lambda: Marks(scripts).meet((LOGIN,), now_ms=lambda: 1, count=count)),
        "unread_reader": (
            "unread_reader",
            lambda: UnreadReader(UnreadMessages(scripts), reading).run(count=count),
        ),
        "private_replies": ("private_replies", lambda: replies.run(count=count)),
    }


@pytest.mark.parametrize(
    "job",
    ["heartbeat", "generations", "account_ids", "acquaintance", "first_seen", "unread_reader", "private_replies"],
)
async def test_a_busy_server_ends_no_job(
    valkey: EmbeddedValkey, scripts: Scripts, settings: Settings, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("worker.backfill.unread_messages.LOOK_SECONDS", "worker.comments.private_replies.LOOK_SECONDS"):
        monkeypatch.setattr(where, 0.01)
    monkeypatch.setattr("store.accounts.marks.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("worker.account_ids.WAITS_SECONDS", (0.01, 0.02))
    async with httpx.AsyncClient() as http:
        name, work = jobs(scripts, settings, http)[job]
        with capture_logs() as logs:
            async with busy(valkey, scripts):
                running = asyncio.ensure_future(work())
                async with asyncio.timeout(20):
                    while not [line for line in logs if line["event"] == "background_job_waits"]:
                        assert not running.done()
                        await asyncio.sleep(0.01)
            try:
                # What could not be counted while the server was busy is counted by an iteration after that.
                async with asyncio.timeout(20):
                    while not await scripts.command("HGET", "ns:events", f"background_failed:{name}"):
                        await asyncio.sleep(0.01)
            finally:
                running.cancel()
                await asyncio.wait({running}, timeout=20)


async def test_failures_stand_in_the_metrics(scripts: Scripts, settings: Settings) -> None:
    await count_in(scripts)("heartbeat", 2)

    shown = await SystemHealth(scripts, settings).metrics()

    assert shown["nightshift_background_failures_total"] == {(("job", "heartbeat"),): 2.0}
    assert shown["nightshift_events_total"] == {}


# Whoever starts something beside the main work does it by `Background`; these are waited for by who has started them.
WAITED_FOR = {
    "runtime/background.py": 2,
    "runtime/cancelling.py": 1,
    "store/server/confirmation.py": 1,
    "store/inbox.py": 1,
    "store/schedule.py": 1,
    "store/server/multiplexed.py": 1,
    "dispatcher/rounds.py": 2,
    "webhooks/shared_look.py": 1,
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
