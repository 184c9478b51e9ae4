"""Events that come late, or out of order: read back from Meta, or an edit that overtakes its message."""

import pytest

from bot.incoming.events import Channel, Deletion, Edit, Noted, UnreadMessage
from bot.outcome import Deferral, SilenceReason
from runtime.clock import now_ms
from runtime.settings import Settings, Shift
from store.hashing import key_of
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from store.turns.lease import LeaseLost
from tests.store.turns.takeover.bench import CONTACT, Bench, human, message

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
CID = CONTACT.conversation_id


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = settings.config.model_copy(update={"shift": Shift(takeover_minutes=60)})
    return settings.model_copy(update={"config": config})


@pytest.fixture
def bench(scripts: Scripts, settings: Settings) -> Bench:
    return Bench(scripts, settings)


async def texts(bench: Bench) -> list[str]:
    _, conversation = await bench.claim()
    return [open_message.text for open_message in conversation.messages]


# Words of people, read back.


async def test_late_words_take_the_lease_and_hold_for_as_long_as_live_ones_would_have(bench: Bench) -> None:
    asked = now_ms() - 10_000
    await bench.receive(message("a", at_ms=asked))
    lease, _ = await bench.claim()

    await bench.receive(human("b", at_ms=asked + 5000, found="look_back"))

    with pytest.raises(LeaseLost):
        await lease.reread()
    assert await bench.field("hold_reason") == "human"
    assert int(await bench.field("takeover_until")) == asked + 5000 + HOUR


async def test_late_words_older_than_a_takeover_hold_up_nothing(bench: Bench) -> None:
    asked = now_ms() - 3 * HOUR
    await bench.receive(message("a", at_ms=asked))
    lease, _ = await bench.claim()

    await bench.receive(human("b", at_ms=asked + 5000, found="look_back"))

    conversation = await lease.reread()
    assert [line.text for line in conversation.history] == ["Здравствуйте, это Мария"]
    assert len(conversation.messages) == 1


@pytest.mark.parametrize("leased", [False, True])
async def test_late_words_close_what_waited_for_people_and_leave_what_came_after(bench: Bench, leased: bool) -> None:
    asked = now_ms() - 5 * HOUR
    await bench.receive(message("a", "Первый", at_ms=asked))
    lease, _ = await bench.claim()
    await lease.hold(0 if leased else 3600, Deferral.OFF_DUTY)
    await bench.receive(message("c", "Второй", at_ms=asked + 2 * HOUR))
    if leased:
        lease, _ = await bench.claim()

    await bench.receive(human("b", at_ms=asked + HOUR, found="look_back"))

    assert await bench.sums() == {"received": 2, "silenced": 1, "open": 1}
    if leased:
        with pytest.raises(LeaseLost):
            await lease.reread()
        assert await texts(bench) == ["Второй"]


async def test_late_words_that_are_ours_change_nothing(bench: Bench) -> None:
    await bench.receive(message("a"))
    lease, plan = await bench.planned("Ответ")
    await lease.begin_part(plan, 0, margin_seconds=0)

    await bench.receive(human("b", "Ответ", found="look_back"))

    assert await bench.parts() == ["sent"]
    assert await bench.field("takeover_until") == ""


async def test_the_webhook_after_late_words_is_a_duplicate(bench: Bench) -> None:
    await bench.receive(human("b", at_ms=now_ms() - 2 * HOUR, found="look_back"))
    await bench.receive(human("b"))

    assert await bench.field("takeover_until") == ""
    assert len(await bench.history()) == 1


# Customers' messages, read back.


@pytest.mark.parametrize("first", ["webhook", "read"])
async def test_a_message_is_one_however_it_comes(bench: Bench, first: str) -> None:
    order = ["", "ghost_edit"] if first == "webhook" else ["ghost_edit", ""]

    for found in order:
        await bench.receive(message("a", found=found))

    assert await bench.sums() == {"received": 1, "open": 1}


async def test_what_another_app_answers_is_not_opened_by_reading_it(bench: Bench) -> None:
    await bench.receive(message("a", closed_as=SilenceReason.STANDBY))
    await bench.receive(message("a", found="reconcile"))

    assert await bench.sums() == {"received": 1, "silenced": 1}


# Edits that overtake their message.


def edit(mid: str, text: str, number: int = 1) -> Edit:
    return Edit(CONTACT, mid, now_ms(), text, number)


async def test_an_edit_before_its_message_makes_it_what_it_is_now(bench: Bench) -> None:
    await bench.receive(edit("a", "Есть красная?"))
    await bench.receive(message("a", "Есть синяя?"))

    assert await texts(bench) == ["Есть красная?"]


async def test_the_last_of_several_early_edits_counts_whatever_their_order(bench: Bench) -> None:
    await bench.receive(edit("a", "Третий", 2), edit("a", "Второй", 1), message("a", "Первый"))

    assert await texts(bench) == ["Третий"]


async def test_an_older_edit_changes_nothing_of_a_newer_one(bench: Bench) -> None:
    await bench.receive(message("a", "Первый"), edit("a", "Третий", 2), edit("a", "Второй", 1))

    assert await texts(bench) == ["Третий"]


async def test_an_edit_of_an_answered_message_is_not_kept(bench: Bench, scripts: Scripts) -> None:
    await bench.receive(message("a"), Deletion(CONTACT, "a", now_ms()), edit("a", "Поздно"))

    assert await scripts.command("EXISTS", f"ns:c:{CID}:edits") == 0


async def test_early_edits_are_few_and_go_by_themselves(bench: Bench, scripts: Scripts) -> None:
    await bench.receive(*(edit(f"m{i}", "x") for i in range(70)))

    assert await scripts.command("HLEN", f"ns:c:{CID}:edits") == 50
    assert 0 < await scripts.command("PTTL", f"ns:c:{CID}:edits") <= 48 * HOUR


# Messages that Meta has told of without their words.


def ghost(mid: str, customer_id: str = "", *, at_ms: int | None = None) -> Noted:
    unread = UnreadMessage(Channel.INSTAGRAM, CONTACT.account_id, mid, at_ms or now_ms(), customer_id)
    return Noted("ghost_edit", CONTACT.account_id, unread=unread)


async def make_due(scripts: Scripts) -> None:
    """As if the moment in which the message may come by itself were over."""
    for key in await scripts.command("HKEYS", "ns:unread"):
        await scripts.command("ZADD", "ns:unread:due", "XX", 1, key)


async def test_a_ghost_is_taken_once_its_message_has_had_the_time_to_come(bench: Bench, scripts: Scripts) -> None:
    outbox = UnreadMessages(scripts)
    await bench.receive(ghost("a"), ghost("a"))

    assert await outbox.take(10) == []
    await make_due(scripts)
    [taken] = await outbox.take(10)

    assert (taken.mid, taken.account_id, taken.failures) == ("a", CONTACT.account_id, 0)
    assert await outbox.take(10) == []  # leased
    assert await bench.sums() == {}


async def test_a_sign_that_comes_again_takes_it_from_nobody(bench: Bench, scripts: Scripts) -> None:
    await bench.receive(ghost("a"))
    await make_due(scripts)
    [taken] = await UnreadMessages(scripts).take(10)
    due = await scripts.command("ZSCORE", "ns:unread:due", taken.key)

    await bench.receive(ghost("a"))

    assert await scripts.command("ZSCORE", "ns:unread:due", taken.key) == due


async def test_who_dies_with_it_only_delays_it(bench: Bench, scripts: Scripts) -> None:
    outbox = UnreadMessages(scripts)
    await bench.receive(ghost("a"))
    await make_due(scripts)
    await outbox.take(10)

    await make_due(scripts)  # the lease is over

    assert len(await outbox.take(10)) == 1


@pytest.mark.parametrize("customer_id", ["", CONTACT.customer_id])
async def test_a_message_that_comes_by_itself_need_not_be_read(
    bench: Bench, scripts: Scripts, customer_id: str
) -> None:
    await bench.receive(ghost("a", customer_id))
    await bench.receive(message("a"))

    assert await scripts.command("EXISTS", "ns:unread", "ns:unread:due") == 0


async def test_a_ghost_after_its_message_is_known_by_its_customer_or_by_the_ledger(
    bench: Bench, scripts: Scripts
) -> None:
    outbox = UnreadMessages(scripts)
    await bench.receive(message("a"))

    await bench.receive(ghost("a", CONTACT.customer_id))
    assert await scripts.command("EXISTS", "ns:unread") == 0
    await bench.receive(ghost("a"), ghost("b"))
    await make_due(scripts)

    assert {t.mid: await outbox.came_by_itself(t) for t in await outbox.take(10)} == {"a": True, "b": False}


async def test_what_is_tried_again_waits_and_is_not_brought_back_by_it(bench: Bench, scripts: Scripts) -> None:
    outbox = UnreadMessages(scripts)
    await bench.receive(ghost("a"))
    await make_due(scripts)
    [taken] = await outbox.take(10)
    await outbox.again(taken, 60, failed=True)
    assert await outbox.take(10) == []
    await make_due(scripts)
    [taken] = await outbox.take(10)
    assert taken.failures == 1

    await bench.receive(message("a"))
    await outbox.again(taken, 0, failed=True)

    assert await scripts.command("EXISTS", "ns:unread", "ns:unread:due") == 0


async def test_the_outbox_is_bounded_and_says_so(bench: Bench, scripts: Scripts) -> None:
    await bench.receive(*(ghost(f"m{i}") for i in range(1003)))

    assert await scripts.command("HLEN", "ns:unread") == 1000
    assert await scripts.command("ZCARD", "ns:unread:due") == 1000
    assert await scripts.command("HGET", "ns:events", "unread_dropped") == "3"
    assert await scripts.command("HKEYS", "ns:alerts") == [f"unread:instagram:{CONTACT.account_id}"]


@pytest.mark.parametrize("garbage", ["", "x", "1 ", "1 {", '1000000000000000 "x"'])
async def test_an_early_edit_that_cannot_be_read_costs_nothing_but_itself(
    bench: Bench, scripts: Scripts, garbage: str
) -> None:
    await bench.receive(edit("b", "y"))
    await scripts.command("HSET", f"ns:c:{CID}:edits", key_of("message", "a"), garbage)

    await bench.receive(message("a", "Есть синяя?"))

    assert len(await texts(bench)) == 1
    assert await scripts.command("ZCARD", "ns:open") == 1
    assert (await scripts.command("HGETALL", "ns:count"))["received"] == "1"
