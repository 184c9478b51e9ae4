"""The books balance after every step of any life, and a burst is over after quiet time or at its cap."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bot.conversation import PartState, PlanMeta
from bot.incoming.events import Deletion, Edit
from bot.outcome import Outcome, SilenceReason
from runtime.embedded import EmbeddedValkey
from runtime.settings import Debounce, Settings
from sandbox.patience import PATIENCE_SECONDS
from store.connection import connect
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Lease, LeaseLost, OutcomeRefused
from tests.store.turns.states import CONTACT, echo, message

pytestmark = pytest.mark.anyio


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.integers(0, 60), min_size=1, max_size=6), quiet=st.integers(0, 80), cap=st.integers(0, 200))
def test_a_burst_is_over_after_quiet_and_never_later_than_its_cap(
    valkey: EmbeddedValkey, settings: Settings, gaps: list[int], quiet: int, cap: int
) -> None:
    debounce = Debounce(quiet_seconds=quiet / 1000, max_wait_seconds=cap / 1000)
    config = settings.config.model_copy(update={"debounce": debounce})

    async def run(scripts: Scripts) -> None:
        inbox = Inbox(scripts, settings.model_copy(update={"config": config}))
        for gap in gaps:
            await inbox.receive([message()])
            await asyncio.sleep(gap / 10_000)
        received = [
            int(entry.split(" ")[1])
            for entry in await scripts.command("LRANGE", f"ns:c:{CONTACT.conversation_id}:inbox", 0, -1)
        ]
        due = float(await scripts.command("ZSCORE", "ns:due", CONTACT.conversation_id))
        assert due == min(received[-1] + quiet, received[0] + cap)

    asyncio.run(on_an_empty_server(valkey, run))


STEPS = st.sampled_from(
    [
        "message",
        "duplicate",
        "echo",
        "own_echo",
        "edit",
        "delete",
        "standby",
        "pop",
        "claim",
        "plan",
        "plan_anyway",
        "begin",
        "sent",
        "unknown",
        "failed",
        "finish",
        "hand_over",
        "hold",
        "drop",
        "vanish",
        "wait",
    ]
)


@hypothesis_settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=40))
def test_the_books_balance_after_every_step_of_any_life(
    valkey: EmbeddedValkey, settings: Settings, steps: list[str]
) -> None:
    asyncio.run(on_an_empty_server(valkey, lambda scripts: _live(scripts, settings, steps)))


async def on_an_empty_server(valkey: EmbeddedValkey, work: Callable[[Scripts], Awaitable[None]]) -> None:
    """Closed also when an assertion fails, or its open sockets would be the failure that is shown."""
    client = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    try:
        await client.flushall()
        await work(Scripts(client))
    finally:
        await client.aclose()


async def _live(scripts: Scripts, settings: Settings, steps: list[str]) -> None:
    inbox, conversations, schedule = Inbox(scripts, settings), Conversations(scripts, settings), Schedule(scripts)
    cid = CONTACT.conversation_id
    lease: Lease | None = None
    for number, step in enumerate(steps):
        plan = None
        if lease is not None:
            try:
                plan = (await lease.reread()).plan
            except LeaseLost:
                lease = None
        match step:
            case "message":
                await inbox.receive([message(f"m{number}")])
            case "duplicate":
                await inbox.receive([message("m0")])
            case "standby":
                await inbox.receive([message(f"s{number}", closed_as=SilenceReason.STANDBY)])
            case "echo":
                await inbox.receive([echo(f"h{number}", f"human {number}")])
            case "own_echo":
                await inbox.receive([echo(f"o{number}", "Ответ")])
            case "edit":
                await inbox.receive([Edit(CONTACT, "m0", 1, "edited", number + 1)])
            case "delete":
                await inbox.receive([Deletion(CONTACT, f"m{number // 2}", 1)])
            case "pop":
                await schedule.pop_due(limit=10, quota=10)
            case "claim":
                claimed = await conversations.claim(cid)
                lease = claimed.lease if isinstance(claimed, Claimed) else lease
            case "vanish":
                await scripts.command("HSET", f"ns:c:{cid}", "lease_until", "1")
                await scripts.command("ZADD", "ns:due", "XX", 1, cid)
                await schedule.pop_due(limit=10, quota=10)
            case "wait":
                await scripts.command("ZADD", "ns:due", "XX", 1, cid)
            case "plan" | "plan_anyway" if lease:
                await lease.plan(
                    await lease.reread(), ["Ответ", "Ещё"], PlanMeta(), whatever_came=step == "plan_anyway"
                )
            case "begin" if lease and plan:
                await lease.begin_part(plan.id, number % 2, margin_seconds=0.1)
            case "sent" | "unknown" | "failed" if plan:
                await conversations.record(
                    cid, plan.id, number % 2, PartState(step), mid=f"r{number}" if step == "sent" else ""
                )
            case "finish" | "hand_over" if lease:
                keys = plan.keys if plan else ()
                with contextlib.suppress(OutcomeRefused):  # nothing has arrived
                    await lease.finish(Outcome.ANSWERED if step == "finish" else Outcome.HANDED_OVER, keys)
                    lease = None
            case "hold" | "drop" if lease:
                await lease.hold(0, "backoff", failed=True, drop_plan=step == "drop")
                lease = None
        await assert_sound(scripts, cid)


async def assert_sound(scripts: Scripts, cid: str) -> None:
    """Books balanced; open messages and the inbox are the same; whoever has an open message or a plan is due."""
    assert (await Ledger(scripts).sums()).balanced
    inbox = {entry.split(" ")[2] for entry in await scripts.command("LRANGE", f"ns:c:{cid}:inbox", 0, -1)}
    waiting = {member.split(" ")[1] for member in await scripts.command("ZRANGE", "ns:open", 0, -1)}
    assert inbox == waiting
    conversation = dict(await scripts.command("HGETALL", f"ns:c:{cid}"))
    due = await scripts.command("ZSCORE", "ns:due", cid)
    if inbox:
        assert due is not None
        assert conversation["state"] in ("gathering", "held", "leased")
    if conversation.get("state") == "rest":
        assert due is None
    if conversation.get("state") == "leased":
        assert conversation["token"]
