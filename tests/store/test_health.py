"""One truth about the house: heartbeats, and messages that are open for too long without a reason."""

import pytest

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from bot.outcome import Deferral
from runtime.settings import Settings
from store.health import SystemHealth, overdue_after_seconds
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations

pytestmark = pytest.mark.anyio
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
CID = CONTACT.conversation_id


async def receive(scripts: Scripts, settings: Settings, *mids: str) -> None:
    await Inbox(scripts, settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms=1790000000000, text="Привет") for mid in mids]
    )


async def received_ago(scripts: Scripts, seconds: float) -> None:
    """Every open message came so long ago."""
    for member in await scripts.command("ZRANGE", "ns:open", 0, -1):
        await scripts.command("ZINCRBY", "ns:open", -seconds * 1000, member)


async def defer(scripts: Scripts, settings: Settings, seconds: float, reason: str) -> None:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CID)
    assert isinstance(claimed, Claimed)
    await claimed.lease.hold(seconds, reason)


async def alive(health: SystemHealth) -> None:
    await health.beat("dispatcher", "host:1")
    await health.beat("worker", "host:2")


async def test_all_is_well_when_somebody_dispatches_and_somebody_works(scripts: Scripts, settings: Settings) -> None:
    health = SystemHealth(scripts, settings)
    await alive(health)
    await health.beat("worker", "host:3")

    assert await health.report() == {
        "ok": True,
        "redis": True,
        "dispatcher": True,
        "workers": 2,
        "beat": False,
        "open": 0,
        "oldest_open_seconds": 0.0,
    }


async def test_nobody_there_is_not_ok(scripts: Scripts, settings: Settings) -> None:
    assert (await SystemHealth(scripts, settings).report())["ok"] is False


async def test_an_old_sign_of_life_does_not_count(scripts: Scripts, settings: Settings) -> None:
    health = SystemHealth(scripts, settings)
    await alive(health)
    await scripts.command("ZINCRBY", "ns:alive", -31_000, "worker host:2")

    view = await health.look()

    assert (view.count("dispatcher"), view.count("worker")) == (1, 0)


async def test_a_message_open_for_too_long_is_overdue(scripts: Scripts, settings: Settings) -> None:
    health = SystemHealth(scripts, settings)
    await alive(health)
    await receive(scripts, settings, "a", "b")
    limit = overdue_after_seconds(settings)
    await received_ago(scripts, limit - 60)
    before = await health.look()
    await received_ago(scripts, 120)

    after = await health.look()

    assert (before.overdue, before.ok) == (0, True)
    assert (after.overdue, after.ok) == (2, False)
    [[_, received_ms]] = await scripts.command("ZRANGE", "ns:open", 0, 0, "WITHSCORES")
    assert after.overdue_since_ms == float(received_ms)


@pytest.mark.parametrize("reason", [Deferral.HUMAN, Deferral.HUMANS_FIRST, Deferral.OFF_DUTY])
async def test_what_waits_on_purpose_is_not_overdue(scripts: Scripts, settings: Settings, reason: Deferral) -> None:
    await receive(scripts, settings, "a")
    await defer(scripts, settings, 3600, reason)
    await received_ago(scripts, 7200)

    view = await SystemHealth(scripts, settings).look()

    assert (view.open, view.overdue) == (1, 0)
    assert view.oldest_open_seconds >= 7200


@pytest.mark.parametrize("reason", [Deferral.BACKOFF, Deferral.SETTLING, "parked"])
async def test_a_wait_that_is_our_own_trouble_is_overdue(scripts: Scripts, settings: Settings, reason: str) -> None:
    await receive(scripts, settings, "a")
    await defer(scripts, settings, 3600, reason)
    await received_ago(scripts, 7200)

    assert (await SystemHealth(scripts, settings).look()).overdue == 1


async def test_after_a_deferral_the_time_counts_from_its_end(scripts: Scripts, settings: Settings) -> None:
    """The conversation is still `held` for its old reason when nobody is left who could claim it."""
    health = SystemHealth(scripts, settings)
    await receive(scripts, settings, "a")
    await defer(scripts, settings, 0, Deferral.OFF_DUTY)
    await received_ago(scripts, 7200)
    just_over = await health.look()
    ended = float(await scripts.command("HGET", f"ns:c:{CID}", "deferred_until"))
    past = ended - (overdue_after_seconds(settings) + 1) * 1000
    await scripts.command("HSET", f"ns:c:{CID}", "deferred_until", f"{past:.0f}")

    long_over = await health.look()

    assert (just_over.overdue, long_over.overdue) == (0, 1)
    assert long_over.overdue_since_ms == round(past)


async def test_many_deferred_messages_hide_no_overdue_one(scripts: Scripts, settings: Settings) -> None:
    await receive(scripts, settings, "a")
    await defer(scripts, settings, 3600, Deferral.OFF_DUTY)
    for start in range(0, 1200, 400):
        pairs = [part for i in range(start, start + 400) for part in (1_000_000 + i, f"{CID} {i:016x}")]
        await scripts.command("ZADD", "ns:open", *pairs)
    await scripts.command("ZADD", "ns:open", 2_000_000, "aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb")

    assert (await SystemHealth(scripts, settings).look()).overdue == 1


async def test_a_poke_that_nobody_takes_is_seen_until_nobody_pokes_any_more(
    scripts: Scripts, settings: Settings
) -> None:
    health = SystemHealth(scripts, settings)
    await receive(scripts, settings, "a")
    await Schedule(scripts).pop_due(limit=10, quota=10)
    fresh = await health.handed_out()
    await scripts.command("ZINCRBY", "ns:handed", -13_000, CID)

    stale = await health.handed_out()

    assert (set(fresh), set(stale)) == ({CID}, set())


async def test_metrics_name_what_is_overdue(scripts: Scripts, settings: Settings) -> None:
    await receive(scripts, settings, "a")
    await received_ago(scripts, 7200)

    metrics = await SystemHealth(scripts, settings).metrics()

    assert metrics["nightshift_overdue_messages"] == {(): 1.0}
    assert metrics["nightshift_messages_total"] == {(("outcome", "received"),): 1.0}
