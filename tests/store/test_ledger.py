"""The books as they are read: sums, days, what is open and why, one message's story, and whether all places agree."""

import pytest

from bot.conversation import PartState, PlanMeta
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.settings import Settings
from store.hashing import key_of
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.ledger_checks import Fault, verify
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Lease

pytestmark = pytest.mark.anyio
DAY_MS = 86_400_000
ANNA = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
BORIS = Contact(Channel.MESSENGER, "104400000000001", "7000000000000011")


def message(contact: Contact, mid: str, closed_as: SilenceReason | None = None) -> CustomerMessage:
    return CustomerMessage(contact, MessageKind.MESSAGE, mid, 1790000000000, "Привет", closed_as=closed_as)


async def claim(scripts: Scripts, settings: Settings, contact: Contact) -> Lease:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(contact.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease


async def answer(scripts: Scripts, settings: Settings, contact: Contact) -> None:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    conversations = Conversations(scripts, settings)
    claimed = await conversations.claim(contact.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    lease, conversation = claimed.lease, claimed.conversation
    await lease.plan(conversation, ["Ответ"], PlanMeta())
    plan = (await lease.reread()).plan
    assert plan is not None
    await lease.begin_part(plan.id, 0, margin_seconds=1)
    await conversations.record(contact.conversation_id, plan.id, 0, PartState.SENT, mid="mid.reply")
    await lease.finish(Outcome.ANSWERED, plan.keys)


async def test_sums_per_day_and_account(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive(
        [message(ANNA, "a1"), message(ANNA, "a2", SilenceReason.STANDBY), message(BORIS, "b1")]
    )
    await answer(scripts, settings, BORIS)

    sums, days = await Ledger(scripts).sums_and_days(2)

    assert (sums.received, sums.answered, sums.silenced, sums.open, sums.balanced, sums.difference) == (
        3,
        1,
        1,
        1,
        True,
        0,
    )
    assert [(row.channel, row.account, row.counts) for row in days] == [
        ("instagram", ANNA.account_id, {"received": 2, "silenced": 1}),
        ("messenger", BORIS.account_id, {"received": 1, "answered": 1}),
    ]


async def test_the_json_has_the_contracts_keys_and_no_other(scripts: Scripts) -> None:
    sums = await Ledger(scripts).sums()

    assert list(sums.as_json()) == [
        "received",
        "answered",
        "handed_over",
        "silenced",
        "undeliverable",
        "expired",
        "open",
        "balanced",
        "oldest_open_seconds",
    ]


@pytest.mark.parametrize(("by", "difference"), [(2, 2), (-1, -1)])
async def test_sums_that_do_not_add_up_name_the_difference(
    scripts: Scripts, settings: Settings, by: int, difference: int
) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1")])
    await scripts.command("HINCRBY", "ns:count", "received", by)

    sums = await Ledger(scripts).sums()

    assert (sums.balanced, sums.difference) == (False, difference)


async def test_open_messages_say_why_they_wait(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1"), message(BORIS, "b1")])
    await (await claim(scripts, settings, ANNA)).hold(600, Deferral.HUMANS_FIRST)

    found = {m.conversation_id: m async for m in Ledger(scripts).open_messages()}

    anna, boris = found[ANNA.conversation_id], found[BORIS.conversation_id]
    assert (anna.key, anna.state, anna.hold_reason) == (key_of("message", "a1"), "held", "humans_first")
    assert anna.next_at_ms == anna.deferred_until_ms > 0
    assert (boris.state, boris.hold_reason, boris.deferred_until_ms) == ("gathering", "", 0)
    assert boris.waited_seconds >= 0


async def test_open_messages_are_read_in_pages(scripts: Scripts) -> None:
    pairs = [part for i in range(450) for part in (1_000_000 + i, f"{ANNA.conversation_id} {i:016x}")]
    await scripts.command("ZADD", "ns:open", *pairs)

    keys = [m.key async for m in Ledger(scripts).open_messages()]

    assert keys == [f"{i:016x}" for i in range(450)]


async def test_the_story_of_one_message(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1"), message(BORIS, "b1")])
    await answer(scripts, settings, ANNA)
    await Inbox(scripts, settings).receive([message(ANNA, "a2")])

    steps = await Ledger(scripts).why("a1")

    assert [step.event for step in steps] == ["received", "claimed", "planned", "sending", "sent", "answered"]
    assert {step.conversation_id for step in steps} == {ANNA.conversation_id}


async def test_the_story_of_a_conversation_by_its_hash(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1"), message(BORIS, "b1"), message(ANNA, "a2")])

    steps = await Ledger(scripts).why(ANNA.conversation_id)

    assert [(step.event, step.key) for step in steps] == [
        ("received", key_of("message", "a1")),
        ("received", key_of("message", "a2")),
    ]


async def test_the_ledger_is_read_in_pages(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, f"a{i}") for i in range(7)])

    assert [step.key async for step in Ledger(scripts).steps(page=3)] == [key_of("message", f"a{i}") for i in range(7)]


async def test_three_places_that_agree(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1"), message(ANNA, "a2"), message(BORIS, "b1")])
    await answer(scripts, settings, BORIS)

    assert [fault async for fault in verify(scripts)] == []


async def test_each_place_that_disagrees_is_named(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(ANNA, "a1"), message(BORIS, "b1")])
    anna, boris = ANNA.conversation_id, BORIS.conversation_id
    lost = f"{anna} {key_of('message', 'lost')}"
    await scripts.command("ZADD", "ns:open", 1, lost)
    await scripts.command("ZREM", "ns:open", f"{boris} {key_of('message', 'b1')}")
    await scripts.command("ZREM", "ns:due", boris)

    found = {fault async for fault in verify(scripts)}

    assert found == {
        Fault(anna, key_of("message", "lost"), "not_in_inbox"),
        Fault(boris, key_of("message", "b1"), "not_open"),
        Fault(boris, "", "not_due"),
    }


async def test_a_days_sums_are_kept_as_long_as_they_can_be_asked_for_and_no_longer(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message(ANNA, "a1")])
    await inbox.receive([message(ANNA, "a2"), message(BORIS, "b1")])
    await answer(scripts, settings, BORIS)

    [day] = await scripts.command("KEYS", "ns:count:*")
    left_ms = int(await scripts.command("PTTL", day))
    assert 400 * DAY_MS < left_ms <= 401 * DAY_MS
    assert await scripts.command("PTTL", "ns:count") == -1
