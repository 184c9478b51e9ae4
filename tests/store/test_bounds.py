"""Nothing in the store grows without end, and nothing that is still needed is cut for that."""

import orjson
import pytest

from bot.alerts.alert import Alert
from bot.incoming.events import Channel, Comment, Contact, CustomerMessage, Echo, MessageKind
from bot.outcome import SilenceReason
from runtime.clock import now_ms
from runtime.settings import Settings
from store.health import SystemHealth
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.outboxes.alerts import AlertOutbox, WaitingAlert
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import MOST, EarlyEvents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from store.telemetry import read_records

pytestmark = pytest.mark.anyio
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
CID = CONTACT.conversation_id
HOUR_MS = 3_600_000
MOST_ALERTS = 2000
MOST_SEEN = 20_000
MOST_COMMENTS = 10_000


def message(mid: str, *, closed_as: SilenceReason | None = None) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, now_ms(), "?", closed_as=closed_as)


# The alert outbox.


async def fill_outbox(scripts: Scripts, *, first: int = 0, count: int = MOST_ALERTS) -> None:
    """One alert a conversation; in one call, as the books would hold them after so many."""
    source = """
      for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
        local body = {rule = 'x', count = 1, conversation = tostring(i)}
        redis.call('HSET', 'ns:alerts', i .. ':handover', cjson.encode(body))
        redis.call('ZADD', 'ns:alerts:due', i, i .. ':handover')
        redis.call('ZADD', 'ns:alerts:order', i, i .. ':handover')
      end"""
    await scripts.command("EVAL", source, 0, first, count)


def alert(rule: str = "reasoning_lock", conversation: str = "") -> Alert:
    return Alert(rule, conversation=conversation, first_at=now_ms())


async def test_a_full_outbox_lets_the_oldest_go_and_counts_it(scripts: Scripts) -> None:
    await fill_outbox(scripts)
    outbox = AlertOutbox(scripts)

    await outbox.raise_alert("new:handover", alert(conversation="new"), conversation_id="new")

    kept = {waiting.id for waiting in await outbox.waiting()}
    assert len(kept) == MOST_ALERTS
    assert "new:handover" in kept
    assert "0:handover" not in kept
    assert await scripts.command("ZCARD", "ns:alerts:due") == MOST_ALERTS
    assert await scripts.command("HGET", "ns:events", "alert_dropped") == "1"
    steps = [step async for step in Ledger(scripts).steps()]
    assert [(s.conversation_id, s.event, s.why) for s in steps][-1] == ("0", "alert_dropped", "0:handover")


async def test_a_full_outbox_lets_tasks_go_before_customers_and_keeps_what_concerns_the_house(
    scripts: Scripts,
) -> None:
    outbox = AlertOutbox(scripts)
    await outbox.raise_alert("system:no_worker", alert("no_worker"))
    await fill_outbox(scripts, count=MOST_ALERTS - 1)
    await outbox.raise_alert("t:task_call", alert("task_call", "t"), conversation_id="t")
    await outbox.raise_alert("new:handover", alert(conversation="new"), conversation_id="new")

    kept = {waiting.id for waiting in await outbox.waiting()}
    assert len(kept) == MOST_ALERTS
    assert {"system:no_worker", "new:handover"} <= kept


async def test_a_repeated_incident_takes_no_second_place(scripts: Scripts) -> None:
    await fill_outbox(scripts)
    outbox = AlertOutbox(scripts)

    await outbox.raise_alert("7:handover", alert(conversation="7"), conversation_id="7")

    assert len(await outbox.waiting()) == MOST_ALERTS
    waiting = await outbox.load("7:handover")
    assert waiting is not None
    assert waiting.alert.count == 2
    assert await scripts.command("HGET", "ns:events", "alert_dropped") is None


async def test_what_is_closed_leaves_nothing_behind(scripts: Scripts) -> None:
    outbox = AlertOutbox(scripts)
    await outbox.raise_alert("a", alert())
    await outbox.delivered(WaitingAlert("a", alert()), "1")
    await outbox.close("a", shown=1)

    assert await scripts.command("KEYS", "ns:alerts*") == []


# What a conversation has seen.


async def age(scripts: Scripts, hours: float) -> None:
    """Everything this conversation has seen was seen so much earlier."""
    for key in await scripts.command("ZRANGE", f"ns:c:{CID}:seen", 0, -1):
        await scripts.command("ZINCRBY", f"ns:c:{CID}:seen", -hours * HOUR_MS, key)


async def received(scripts: Scripts) -> int:
    return (await Ledger(scripts).sums()).received


async def test_a_message_that_is_open_for_days_is_not_taken_for_a_new_one(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("m1")])
    await age(scripts, 73)
    await inbox.receive([message("m2", closed_as=SilenceReason.STANDBY)])

    await inbox.receive([message("m1")])

    assert await received(scripts) == 2
    assert await scripts.command("LLEN", f"ns:c:{CID}:inbox") == 1


async def test_a_flood_does_not_push_an_open_message_out(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("m1")])
    await age(scripts, 1)
    fill = "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2] + i, 'x' .. i) end"
    await scripts.command("EVAL", fill, 1, f"ns:c:{CID}:seen", MOST_SEEN + 10, now_ms())
    await inbox.receive([message("m2", closed_as=SilenceReason.STANDBY)])

    await inbox.receive([message("m1")])

    assert await received(scripts) == 2
    assert await scripts.command("ZCARD", f"ns:c:{CID}:seen") <= MOST_SEEN


async def test_what_is_closed_and_old_is_forgotten(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("m1", closed_as=SilenceReason.STANDBY)])
    await age(scripts, 73)

    await inbox.receive([message("m2", closed_as=SilenceReason.STANDBY)])

    assert await scripts.command("ZCARD", f"ns:c:{CID}:seen") == 2  # m2 and its standby copy


async def test_a_conversation_of_humans_alone_does_not_remember_for_ever(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([Echo(CONTACT, "e1", now_ms(), "One")])
    await age(scripts, 73)

    await inbox.receive([Echo(CONTACT, "e2", now_ms(), "Two")])

    assert await scripts.command("ZCARD", f"ns:c:{CID}:seen") == 1


# Streams and small stores.


@pytest.mark.parametrize("stream", ["ns:ledger", "ns:telemetry"])
async def test_a_stream_is_cut_by_age_as_well(scripts: Scripts, settings: Settings, stream: str) -> None:
    days = 24 * HOUR_MS
    for age_days in (400, 181, 179, 0):
        await scripts.command("XADD", stream, f"{now_ms() - age_days * days}-0", "c", "x", "m", "", "e", "", "w", "")

    await SystemHealth(scripts, settings).beat("worker", "host:1")

    assert await scripts.command("XLEN", stream) == 2


async def test_telemetry_that_has_gone_by_its_age_is_not_called_complete(scripts: Scripts, settings: Settings) -> None:
    days = 24 * HOUR_MS
    await scripts.command("XADD", "ns:telemetry", f"{now_ms() - 400 * days}-0", "c", "x", "turn", "{}")
    await SystemHealth(scripts, settings).beat("worker", "host:1")

    records = await read_records(scripts, since_ms=now_ms() - 500 * days)

    assert not records.turns
    assert not records.complete


async def test_comments_that_nobody_answers_are_bounded_and_go_in_time(scripts: Scripts) -> None:
    outbox = CommentOutbox(scripts)
    fill = """
      for i = 1, ARGV[1] do
        redis.call('HSET', 'ns:comments', 'c' .. i, '{}')
        redis.call('ZADD', 'ns:comments:due', i, 'c' .. i)
      end"""
    await scripts.command("EVAL", fill, 0, MOST_COMMENTS)

    assert await outbox.note(Comment(Channel.INSTAGRAM, "17841400000000042", "c-1", "9001000000000123", 1, "?"))

    assert await scripts.command("HLEN", "ns:comments") == MOST_COMMENTS
    assert await scripts.command("ZCARD", "ns:comments:due") == MOST_COMMENTS
    assert await scripts.command("HEXISTS", "ns:comments", "c1") == 0
    assert await scripts.command("HGET", "ns:events", "private_reply_dropped") == "1"
    for key in ("ns:comments", "ns:comments:due", "ns:comments:seen"):
        assert 0 < await scripts.command("PTTL", key) <= 8 * 24 * HOUR_MS


async def test_a_comment_that_cannot_be_read_holds_up_no_other(scripts: Scripts) -> None:
    outbox = CommentOutbox(scripts)
    await outbox.note(Comment(Channel.INSTAGRAM, "17841400000000042", "c-1", "9001000000000123", 1, "?"))
    for key, line in (("broken", "{"), ("newer", '{"channel": "threads"}'), ("empty", None)):
        await scripts.command("ZADD", "ns:comments:due", 1, key)
        if line:
            await scripts.command("HSET", "ns:comments", key, line)

    due = await outbox.due(now_ms=now_ms() + HOUR_MS, limit=20)

    assert [waiting.comment.comment_id for waiting in due] == ["c-1"]
    assert await scripts.command("ZCARD", "ns:comments:due") == 1
    assert await scripts.command("HGET", "ns:events", "private_reply_unreadable") == "3"


async def test_an_unread_message_of_another_version_holds_up_no_other(scripts: Scripts) -> None:
    good = {"channel": "instagram", "account": "17841400000000042", "mid": "m", "at": 1}
    for key, line in (("a", '{"channel": "threads"}'), ("b", orjson.dumps(good).decode()), ("c", "{")):
        await scripts.command("HSET", "ns:unread", key, line)
        await scripts.command("ZADD", "ns:unread:due", 1, key)

    taken = await UnreadMessages(scripts).take(10)

    assert [unread.key for unread in taken] == ["b"]
    assert await scripts.command("HKEYS", "ns:unread") == ["b"]
    assert await scripts.command("HGET", "ns:events", "unread_broken") == "2"


async def test_early_events_are_bounded_and_go_in_time(scripts: Scripts) -> None:
    early = EarlyEvents(scripts)

    dropped = await early.keep(*(f"record {n}" for n in range(MOST + 3)))

    assert dropped == 3
    assert (await early.kept())[0] == "record 3"
    assert 0 < await scripts.command("PTTL", "ns:early") <= 24 * HOUR_MS
