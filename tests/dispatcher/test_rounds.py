"""The dispatcher hands out what is due, and no more than the workers can take."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from dispatcher.rounds import QUOTA, Dispatcher
from runtime import queue
from runtime.clock import now_ms
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config, Debounce, Environment, Settings
from sandbox.patience import PATIENCE_SECONDS
from store.connection import connect
from store.health import SystemHealth
from store.incoming.inbox import Inbox
from store.schedule import Due, Schedule
from store.scripts import Scripts
from store.server.clock_watch import ClockWatch

pytestmark = pytest.mark.anyio
QUEUE_KEY = "ns:celery:turns"


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
def settings(valkey: EmbeddedValkey) -> Settings:
    return Settings(
        env=Environment(redis_url=valkey.url),
        config=Config(
            accounts=(Account(channel=Channel.INSTAGRAM, id="1"),),
            debounce=Debounce(quiet_seconds=0, max_wait_seconds=0),
        ),
    )


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=8, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


async def run_until(dispatcher: Dispatcher, is_over: Callable[[], Awaitable[bool]]) -> None:
    running = asyncio.create_task(dispatcher.run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await is_over():
            await asyncio.sleep(0.02)
    dispatcher.stop()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await running


async def receive(scripts: Scripts, settings: Settings, count: int) -> None:
    await Inbox(scripts, settings).receive(
        [
            CustomerMessage(Contact(Channel.INSTAGRAM, "1", str(i)), MessageKind.MESSAGE, f"m{i}", now_ms(), "?")
            for i in range(count)
        ]
    )


class CountedSchedule(Schedule):
    rounds = 0

    async def pop_due(self, **limits: Any) -> Due:
        self.rounds += 1
        return await super().pop_due(**limits)


async def test_what_is_due_becomes_a_poke(scripts: Scripts, settings: Settings) -> None:
    await receive(scripts, settings, 3)
    schedule = Schedule(scripts)

    async def all_are_poked() -> bool:
        return int(await scripts.command("LLEN", QUEUE_KEY)) >= 3

    await run_until(
        Dispatcher(
            schedule, SystemHealth(scripts, settings), queue.make_celery(settings), ClockWatch(scripts, settings)
        ),
        all_are_poked,
    )

    assert await scripts.command("LLEN", QUEUE_KEY) == 3
    await schedule.aclose()


async def test_a_queue_that_nobody_empties_does_not_grow(scripts: Scripts, settings: Settings) -> None:
    celery = queue.make_celery(settings)

    def fill() -> None:
        with celery.producer_pool.acquire(block=True) as producer:
            for i in range(QUOTA):
                celery.send_task(queue.ANSWER, args=[str(i)], producer=producer)

    await asyncio.to_thread(fill)
    await receive(scripts, settings, 20)
    schedule = CountedSchedule(scripts)

    async def many_rounds_are_over() -> bool:
        return schedule.rounds > 15

    await run_until(
        Dispatcher(schedule, SystemHealth(scripts, settings), celery, ClockWatch(scripts, settings)),
        many_rounds_are_over,
    )

    assert await scripts.command("LLEN", QUEUE_KEY) == QUOTA
    assert await scripts.command("ZCARD", "ns:due") == 20
    await schedule.aclose()
