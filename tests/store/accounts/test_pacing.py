"""Calls to Meta in step with its limits: all workers share one line for each account."""

import asyncio
from itertools import pairwise
from typing import NamedTuple

import pytest

from bot.conversation import PlanMeta
from bot.incoming.events import Channel
from runtime.clock import now_ms
from runtime.settings import Account, Settings
from store.accounts.pacing import Call, NoSlot, Pacing, RateLimit, Slot
from store.accounts.parking import Parked, Parking
from store.incoming.inbox import Inbox
from store.scripts import Scripts
from store.turns.decisions import MaySend
from tests.store.turns.waiting import ACCOUNT, claim, message, server_us

pytestmark = pytest.mark.anyio


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
