"""For how long a message that was received is known when it comes again."""

import pytest

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind, Noted
from bot.outcome import SilenceReason
from runtime.clock import now_ms
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.limits import SEEN_SECONDS
from store.scripts import Scripts

pytestmark = pytest.mark.anyio
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
SEEN = f"ns:c:{CONTACT.conversation_id}:seen"
MOST_SEEN = 20_000


async def receive(scripts: Scripts, settings: Settings, mid: str, *, at_ms: int, found: str = "") -> None:
    message = CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms, "Привет", found=found)
    await Inbox(scripts, settings).receive([message])


async def outcomes(scripts: Scripts) -> dict[str, int]:
    sums = (await Ledger(scripts).sums()).as_json()
    return {name: sums[name] for name in ("received", "answered", "silenced", "open") if sums[name]}


async def fill(scripts: Scripts, settings: Settings, *, since_ms: int) -> None:
    """As many as are remembered, received since then; one more has made the oldest go."""
    for start in range(0, MOST_SEEN, 500):
        members = [word for n in range(start, start + 500) for word in (since_ms + n, f"key{n}")]
        await scripts.command("ZADD", SEEN, *members)
    await Inbox(scripts, settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "newest", now_ms(), closed_as=SilenceReason.SELF)]
    )


async def test_the_horizon_of_the_scripts_is_the_one_that_the_door_knows(scripts: Scripts, settings: Settings) -> None:
    horizon_ms = round(SEEN_SECONDS * 1000)
    await scripts.command("ZADD", SEEN, now_ms() - horizon_ms + 60_000, "kept", now_ms() - horizon_ms - 1, "forgotten")

    await receive(scripts, settings, "a", at_ms=now_ms())
    await Inbox(scripts, settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "b", now_ms(), closed_as=SilenceReason.SELF)]
    )

    assert await scripts.command("ZSCORE", SEEN, "kept") is not None
    assert await scripts.command("ZSCORE", SEEN, "forgotten") is None


async def test_what_a_full_conversation_may_have_forgotten_is_not_answered_again(
    scripts: Scripts, settings: Settings
) -> None:
    since = now_ms() - 600_000
    await fill(scripts, settings, since_ms=since)

    await receive(scripts, settings, "captured", at_ms=since - 1)
    await receive(scripts, settings, "captured", at_ms=since - 1)

    assert await outcomes(scripts) == {"received": 2, "silenced": 2}


@pytest.mark.parametrize(("late_ms", "found"), [(60_000, ""), (660_000, "reconcile")], ids=["younger", "read back"])
async def test_what_it_cannot_have_forgotten_is_answered(
    scripts: Scripts, settings: Settings, late_ms: int, found: str
) -> None:
    await fill(scripts, settings, since_ms=now_ms() - 600_000)

    await receive(scripts, settings, "a", at_ms=now_ms() - late_ms, found=found)

    assert await outcomes(scripts) == {"received": 2, "silenced": 1, "open": 1}


async def test_a_late_message_of_an_ordinary_conversation_is_answered(scripts: Scripts, settings: Settings) -> None:
    await receive(scripts, settings, "new", at_ms=now_ms())
    await receive(scripts, settings, "late", at_ms=now_ms() - 36 * 3_600_000)

    assert await outcomes(scripts) == {"received": 2, "open": 2}


async def test_the_day_of_what_is_too_old_is_told_once(scripts: Scripts, settings: Settings) -> None:
    for _ in range(3):
        await Inbox(scripts, settings).receive([Noted("too_old", "17841400000000042")] * 5)

    alerts = await scripts.command("HGETALL", "ns:alerts")
    assert len(alerts) == 1
    assert int(await scripts.command("HGET", "ns:events", "too_old")) == 15


async def test_the_time_of_the_server_is_asked(scripts: Scripts, settings: Settings) -> None:
    before = now_ms()

    told = await Inbox(scripts, settings).server_ms()

    assert before - 1000 <= told <= now_ms() + 1000


async def test_a_clock_that_jumped_ahead_makes_nothing_too_old(scripts: Scripts, settings: Settings) -> None:
    await scripts.command("SET", "ns:clock:ahead", 7 * 86_400_000)

    before = now_ms()

    told = await Inbox(scripts, settings).server_ms() + 7 * 86_400_000

    assert before - 1000 <= told <= now_ms() + 1000
