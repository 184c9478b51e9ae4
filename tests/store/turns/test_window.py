"""The messaging window: what opens it, and that nothing waits past its end unseen."""

import asyncio
from itertools import pairwise
from typing import NamedTuple

import pytest

from bot.alerts.alert import Alert
from bot.conversation import Conversation, PlanMeta
from bot.incoming.events import Channel, Contact, CustomerAction, CustomerMessage, Echo, MessageKind, PolicyEnforcement
from bot.messaging_window import MARGIN_MS, WARNING_MS, WINDOW_MS
from bot.outcome import Deferral, SilenceReason
from runtime.clock import now_ms
from runtime.settings import Account, Settings
from store.accounts.pacing import Call, NoSlot, Pacing, RateLimit, Slot
from store.accounts.parking import Parked, Parking
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import MaySend
from store.turns.lease import Incident, Lease

pytestmark = pytest.mark.anyio

ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
DAY_AND_MORE_SECONDS = 100_000.0


def told(acted_at_ms: int) -> Incident:
    return Incident("told", Alert("window_closing", acted_at=acted_at_ms))


def message(mid: str, at_ms: int, **more: object) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms, "?", **more)  # type: ignore[arg-type]


async def claim(scripts: Scripts, settings: Settings) -> tuple[Lease, Conversation]:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease, claimed.conversation


async def due_at(scripts: Scripts) -> int:
    return int(float(await scripts.command("ZSCORE", "ns:due", CONTACT.conversation_id)))


async def server_us(scripts: Scripts) -> int:
    """The server's own time: what it does lies between one reading before it and one after it, however slow we are."""
    seconds, micros = await scripts.command("TIME")
    return int(seconds) * 1_000_000 + int(micros)


@pytest.mark.parametrize("reason", [Deferral.HUMAN, Deferral.HUMANS_FIRST, Deferral.OFF_DUTY, "parked"])
async def test_who_waits_is_looked_at_before_the_window_closes_and_at_its_end(
    scripts: Scripts, settings: Settings, reason: str
) -> None:
    at_ms = now_ms() - 3_600_000
    await Inbox(scripts, settings).receive([message("m1", at_ms)])
    lease, _ = await claim(scripts, settings)

    await lease.hold(DAY_AND_MORE_SECONDS, reason)
    first = await due_at(scripts)
    await scripts.command("ZADD", "ns:due", 0, CONTACT.conversation_id)
    lease, _ = await claim(scripts, settings)
    await lease.hold(DAY_AND_MORE_SECONDS, reason, window_closing=told(at_ms))
    second = await due_at(scripts)

    assert first == at_ms + WINDOW_MS - MARGIN_MS - WARNING_MS
    assert second == at_ms + WINDOW_MS - MARGIN_MS
    assert await scripts.command("HKEYS", "ns:alerts") == ["told"]


async def test_a_new_message_opens_a_new_window_of_which_managers_may_be_told_again(
    scripts: Scripts, settings: Settings
) -> None:
    inbox, first_at, second_at = Inbox(scripts, settings), now_ms() - 7_200_000, now_ms() - 3_600_000
    await inbox.receive([message("m1", first_at)])
    lease, _ = await claim(scripts, settings)
    await lease.hold(0, Deferral.HUMAN, window_closing=told(first_at))
    await inbox.receive([message("m2", second_at)])

    lease, conversation = await claim(scripts, settings)
    await lease.hold(DAY_AND_MORE_SECONDS, Deferral.HUMAN)

    assert conversation.window_told_ms == first_at
    assert await due_at(scripts) == second_at + WINDOW_MS - MARGIN_MS - WARNING_MS


async def test_a_warning_of_the_old_window_is_not_taken_for_one_of_the_new(
    scripts: Scripts, settings: Settings
) -> None:
    inbox, first_at, second_at = Inbox(scripts, settings), now_ms() - 7_200_000, now_ms() - 3_600_000
    await inbox.receive([message("m1", first_at)])
    lease, _ = await claim(scripts, settings)
    await inbox.receive([message("m2", second_at)])

    await lease.hold(DAY_AND_MORE_SECONDS, Deferral.HUMAN, window_closing=told(first_at))

    assert await due_at(scripts) == second_at + WINDOW_MS - MARGIN_MS - WARNING_MS


async def test_a_short_wait_is_not_touched(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms())])
    lease, _ = await claim(scripts, settings)

    before = await server_us(scripts)
    await lease.hold(60, Deferral.HUMAN)
    after = await server_us(scripts)

    minute_ms = 60_000
    assert before // 1000 + minute_ms <= await due_at(scripts) <= after // 1000 + minute_ms


async def test_a_takeover_of_a_closed_window_is_due_at_once(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms() - 2 * WINDOW_MS), Echo(CONTACT, "h1", now_ms())])

    assert (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids == (CONTACT.conversation_id,)


@pytest.mark.parametrize("kind", ["reaction", "referral"])
async def test_a_reaction_or_a_link_opens_the_window_and_an_older_one_does_not_shut_it(
    scripts: Scripts, settings: Settings, kind: str
) -> None:
    inbox, at_ms = Inbox(scripts, settings), now_ms() - 1000
    await inbox.receive([message("m1", at_ms - WINDOW_MS)])

    await inbox.receive([CustomerAction(CONTACT, kind, at_ms), CustomerAction(CONTACT, kind, at_ms - 5000)])

    _, conversation = await claim(scripts, settings)
    assert conversation.last_action_at_ms == at_ms


async def test_an_action_of_somebody_who_never_wrote_is_only_counted(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([CustomerAction(CONTACT, "referral", now_ms())])

    assert await scripts.command("EXISTS", f"ns:c:{CONTACT.conversation_id}") == 0
    assert await scripts.command("HGET", "ns:events", "referral") == "1"


async def test_a_test_from_the_dashboard_opens_no_window(scripts: Scripts, settings: Settings) -> None:
    at_ms = now_ms() - 5000
    await Inbox(scripts, settings).receive(
        [message("m1", at_ms), message("m2", at_ms + 4000, closed_as=SilenceReason.TEST_EVENT)]
    )

    _, conversation = await claim(scripts, settings)
    assert conversation.acted_at_ms == at_ms


# Accounts that must not send.


async def why_parked(scripts: Scripts) -> str:
    place = await Pacing(scripts).take(ACCOUNT, "send", patience_seconds=0)
    return place.reason if isinstance(place, Parked) else ""


def policy(action: str, at_ms: int = 1) -> PolicyEnforcement:
    return PolicyEnforcement(Channel.INSTAGRAM, ACCOUNT.id, action, at_ms, "Too many")


async def test_a_block_parks_the_account_until_it_is_lifted(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([policy("block"), message("m1", now_ms())])
    assert await why_parked(scripts) == "policy_block"
    lease, _ = await claim(scripts, settings)
    await lease.hold(3600, "parked")

    await inbox.receive([policy("unblock", 2)])

    assert await why_parked(scripts) == ""
    assert (await Schedule(scripts).pop_due(limit=1, quota=1)).conversation_ids == (CONTACT.conversation_id,)
    assert await scripts.command("HKEYS", "ns:alerts") == [f"account:instagram:{ACCOUNT.id}:policy_block"]


async def test_a_block_that_comes_again_late_does_not_block_again(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([policy("block"), policy("unblock", 2), policy("block")])

    assert await why_parked(scripts) == ""


async def test_an_unblock_does_not_mend_a_token(scripts: Scripts, settings: Settings) -> None:
    await Parking(scripts).park(ACCOUNT, "token", 60)

    await Inbox(scripts, settings).receive([policy("unblock")])

    assert await why_parked(scripts) == "token"


async def test_a_warning_is_told_and_parks_nothing(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([policy("warning")])

    assert await why_parked(scripts) == ""
    assert await scripts.command("HKEYS", "ns:alerts") == [f"account:instagram:{ACCOUNT.id}:policy_warning"]


async def test_a_gentle_rest_does_not_shorten_another(scripts: Scripts) -> None:
    parking = Parking(scripts)
    await parking.park(ACCOUNT, "token", 60)

    await parking.park(ACCOUNT, "usage", 1, unless_parked=True)

    assert await why_parked(scripts) == "token"


# Pacing.


SECOND_US = 1_000_000


class Turn(NamedTuple):
    """A place that was taken, and when its owner may call, by the server's time."""

    wait: float
    earliest_us: int
    latest_us: int


async def turn(scripts: Scripts, call: Call) -> Turn:
    before = await server_us(scripts)
    slot = await Pacing(scripts).take(ACCOUNT, call, patience_seconds=60)
    after = await server_us(scripts)
    assert isinstance(slot, Slot)
    wait_us = round(slot.seconds * SECOND_US)
    return Turn(slot.seconds, before + wait_us, after + wait_us)


async def test_reading_back_keeps_to_two_calls_a_second(scripts: Scripts) -> None:
    turns = [await turn(scripts, "read") for _ in range(4)]

    assert turns[0].wait == 0
    assert all(turn.wait <= number / 2 for number, turn in enumerate(turns))
    assert all(later.latest_us >= earlier.earliest_us + SECOND_US // 2 for earlier, later in pairwise(turns))


async def test_all_workers_stand_in_one_line_and_accounts_in_their_own(scripts: Scripts) -> None:
    other = Account(channel=Channel.MESSENGER, id=ACCOUNT.id)
    turns = [await turn(scripts, "send") for _ in range(250)]

    elsewhere = await Pacing(scripts).take(other, "send", patience_seconds=0)

    assert {turn.wait for turn in turns[:100]} == {0.0}
    assert turns[-1].latest_us >= turns[0].earliest_us + 2 * SECOND_US
    assert elsewhere == Slot(0.0)


async def test_whoever_will_not_wait_takes_no_slot(scripts: Scripts) -> None:
    pacing = Pacing(scripts)
    for _ in range(200):  # a hundred seconds of line
        await pacing.take(ACCOUNT, "read", patience_seconds=1000)

    refused = [await pacing.take(ACCOUNT, "read", patience_seconds=0) for _ in range(5)]

    waits = [answer.seconds for answer in refused if isinstance(answer, NoSlot)]
    assert len(waits) == 5
    assert waits == sorted(waits, reverse=True)  # the line grows by none of them


async def test_a_parked_account_has_no_line(scripts: Scripts) -> None:
    await Parking(scripts).park(ACCOUNT, "token", 600)

    place = await Pacing(scripts).take(ACCOUNT, "send", patience_seconds=0)

    assert isinstance(place, Parked)
    assert place.reason == "token"
    assert 0 < place.seconds_left <= 600


async def test_a_part_that_begins_takes_its_slot_in_the_same_step(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms())])
    lease, conversation = await claim(scripts, settings)
    conversation = (await lease.plan(conversation, ["one", "two"], PlanMeta())).conversation
    assert conversation.plan is not None
    slow = RateLimit("ns:line:test", 1, 100 * SECOND_US)  # one in a hundred seconds

    async def begin(part: int, patience_seconds: float, limit: RateLimit | None = slow) -> object:
        assert conversation.plan is not None
        return await lease.begin_part(
            conversation.plan.id, part, margin_seconds=1, limit=limit, patience_seconds=patience_seconds
        )

    first = await begin(0, 0)
    hasty, patient = await begin(1, 0), await begin(1, 200)
    await Parking(scripts).park(ACCOUNT, "token", 60)
    parked = await begin(1, 200)
    waited = await begin(1, 0, limit=None)

    assert first == waited == MaySend()
    assert isinstance(hasty, NoSlot)
    assert isinstance(patient, Slot)
    assert 0 < patient.seconds <= slow.span_us / SECOND_US
    assert isinstance(parked, Parked)
    assert parked.reason == "token"


async def test_a_turn_reads_that_its_account_rests(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms())])
    await Parking(scripts).park(ACCOUNT, "throttled", 600)

    lease, conversation = await claim(scripts, settings)
    await Parking(scripts).release(ACCOUNT)

    assert conversation.parked == "throttled"
    assert 0 < conversation.parked_ms <= 600_000
    assert (await lease.reread()).parked == ""


async def test_no_second_holds_more_calls_than_its_limit(scripts: Scripts) -> None:
    """Whatever comes when: the moments at which all those may call who took a place."""
    turns: list[Turn] = []
    for gap in (0, 0.05, 0.3, 0, 0.15):
        await asyncio.sleep(gap)
        turns += [await turn(scripts, "send") for _ in range(90)]

    assert all(
        later.latest_us >= earlier.earliest_us + SECOND_US for earlier, later in zip(turns, turns[100:], strict=False)
    )
    assert {turn.wait for turn in turns[:100]} == {0.0}  # and the first hundred need not wait
