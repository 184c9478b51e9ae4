"""Each background job there is goes on against a server on which a script of another client runs and runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from clients.graph.api import GraphAPI
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
from store.incoming.inbox import Inbox
from store.incoming.known_messages import KnownMessages
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import EarlyEvents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from webhooks.account_id_discovery import AccountIdDiscovery
from webhooks.accounts import Accounts
from worker.account_ids import AccountIdsLearner
from worker.agent.generations import Generations
from worker.backfill.reading import Reading
from worker.backfill.unread_messages import UnreadReader
from worker.comments.private_replies import PrivateReplies

pytestmark = pytest.mark.anyio


LOGIN = Account(channel="instagram", login="instagram", id="26000000000000099", token=SecretStr("an-invented-token"))


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
    discovery = AccountIdDiscovery(
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
        "discovery": ("account_ids", lambda: discovery.run(count=count)),
        "first_seen": ("first_seen", lambda: Marks(scripts).meet((LOGIN,), now_ms=lambda: 1, count=count)),
        "unread_reader": (
            "unread_reader",
            lambda: UnreadReader(UnreadMessages(scripts), reading).run(count=count),
        ),
        "private_replies": ("private_replies", lambda: replies.run(count=count)),
    }


@pytest.mark.parametrize(
    "job",
    ["heartbeat", "generations", "account_ids", "discovery", "first_seen", "unread_reader", "private_replies"],
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
