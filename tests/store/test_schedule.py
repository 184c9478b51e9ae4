"""The dispatcher is handed what is due, no more than its quota, and wakes up for what comes sooner than it knew."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from runtime.settings import Debounce, Settings
from sandbox.patience import PATIENCE_SECONDS
from store.incoming.inbox import Inbox
from store.keys import WAKE
from store.schedule import REDO_SECONDS, Schedule
from store.scripts import Scripts

pytestmark = pytest.mark.anyio

LONG = 10 * PATIENCE_SECONDS


@pytest.fixture
async def schedule(scripts: Scripts) -> AsyncIterator[Schedule]:
    schedule = Schedule(scripts)
    yield schedule
    await schedule.aclose()


async def write(scripts: Scripts, settings: Settings, *customers: int) -> None:
    for customer in customers:
        contact = Contact(Channel.INSTAGRAM, "17841400000000042", str(9_001_000_000_000_000 + customer))
        message = CustomerMessage(contact, MessageKind.MESSAGE, f"m{customer}", at_ms=1, text="Привет")
        await Inbox(scripts, settings).receive([message])


async def test_no_more_than_the_quota_is_handed_out_until_it_is_claimed(
    schedule: Schedule, scripts: Scripts, settings: Settings
) -> None:
    await write(scripts, settings, 1, 2, 3)

    first = await schedule.pop_due(limit=10, quota=2)
    second = await schedule.pop_due(limit=10, quota=2)

    assert (len(first.conversation_ids), len(second.conversation_ids)) == (2, 0)


async def test_one_round_takes_no_more_than_its_limit(schedule: Schedule, scripts: Scripts, settings: Settings) -> None:
    await write(scripts, settings, 1, 2, 3)

    rounds = [(await schedule.pop_due(limit=2, quota=10)).conversation_ids for _ in range(3)]

    assert [len(ids) for ids in rounds] == [2, 1, 0]


async def test_what_is_handed_out_is_due_again_should_its_poke_be_lost(
    schedule: Schedule, scripts: Scripts, settings: Settings
) -> None:
    await write(scripts, settings, 1)

    due = await schedule.pop_due(limit=10, quota=10)
    score = await scripts.command("ZSCORE", "ns:due", due.conversation_ids[0])

    assert float(score) == due.told.now_ms + REDO_SECONDS * 1000


async def test_where_nothing_waits_there_is_no_next_time(schedule: Schedule) -> None:
    assert (await schedule.pop_due(limit=10, quota=10)).next_in_seconds is None


async def test_a_deadline_sooner_than_the_known_ones_ends_the_wait(
    schedule: Schedule, scripts: Scripts, settings: Settings
) -> None:
    unhurried = settings.config.model_copy(update={"debounce": Debounce(quiet_seconds=60, max_wait_seconds=60)})
    await write(scripts, settings.model_copy(update={"config": unhurried}), 1)
    await schedule.pop_due(limit=10, quota=10)
    waiting = asyncio.create_task(schedule.wait(LONG))

    await write(scripts, settings, 2)

    await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    assert await scripts.command("EXISTS", WAKE) == 0, "the wait has ended by itself"
    assert len((await schedule.pop_due(limit=10, quota=10)).conversation_ids) == 1
