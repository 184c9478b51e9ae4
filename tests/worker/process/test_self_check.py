"""A worker that consumes nothing says so by its silence, and ends; one that is merely idle or busy does neither."""

import asyncio
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.patience import PATIENCE_SECONDS
from store.connection import StoreUnavailable
from tests.rooms import ROOT
from worker.process.self_check import EXIT_CODE, ConsumerWatch, SelfCheck

pytestmark = pytest.mark.anyio


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def consumer(
    *, in_poll: object = "a connection", can_consume: bool = True, queues: Collection[str] = ("turns",)
) -> Any:
    """What Celery's consumer shows: its channel to Redis, and its pool."""
    channel = SimpleNamespace(
        active_queues=set(queues), _in_poll=in_poll, qos=SimpleNamespace(can_consume=lambda: can_consume)
    )
    return SimpleNamespace(task_consumer=SimpleNamespace(channel=channel), pool=SimpleNamespace(num_processes=2))


@dataclass
class Worker:
    """A self-check with everything it asks, in the hands of the test; `live` lets time pass, as a healthy worker."""

    broker_is_store: bool = True
    clock: Clock = field(default_factory=Clock)
    handed: Collection[str] = ()
    redis_is_up: bool = True
    loop_turns: bool = True
    hub_turns: bool = True
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.consumer = ConsumerWatch(self.clock)
        self.consumer.adopt(consumer())
        self.loop_turned_at = self.clock()
        self.check = SelfCheck(
            consumer=self.consumer,
            handed_out=self.ask,
            loop_turned_at=lambda: self.loop_turned_at,
            leave=self.reasons.append,
            broker_is_store=self.broker_is_store,
            clock=self.clock,
        )

    async def ask(self) -> Collection[str]:
        if not self.redis_is_up:
            raise StoreUnavailable("ConnectionError")
        return self.handed

    async def live(self, seconds: float) -> None:
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += 5
            if self.loop_turns:
                self.loop_turned_at = self.clock()
            if self.hub_turns:
                self.consumer.tick()
            await self.check.look()


async def test_an_idle_worker_stays() -> None:
    worker = Worker()

    await worker.live(3600)

    assert worker.reasons == []


async def test_a_deaf_worker_leaves_after_a_minute_and_once() -> None:
    worker = Worker(handed=("c1", "c2"))
    await worker.live(60)
    patient = list(worker.reasons)

    await worker.live(30)

    assert patient == []
    assert worker.reasons == ["2 conversations wait to be claimed, and no turn arrives"]


async def test_alerts_that_still_arrive_do_not_prove_that_turns_do() -> None:
    worker = Worker(handed=("c1",))
    for _ in range(8):
        worker.consumer.task_started(is_turn=False)
        worker.consumer.task_ended()
        await worker.live(10)

    assert len(worker.reasons) == 1


async def test_a_worker_that_starts_turns_is_not_deaf_however_long_the_queue() -> None:
    worker = Worker(handed=("c1",))
    for _ in range(10):
        await worker.live(30)
        worker.consumer.task_started(is_turn=True)
        worker.consumer.task_ended()

    assert worker.reasons == []


async def test_conversations_that_change_are_taken_by_somebody() -> None:
    worker = Worker()
    for number in range(60):
        worker.handed = (f"c{number}",)
        await worker.live(10)

    assert worker.reasons == []


async def test_a_full_worker_has_an_excuse() -> None:
    worker = Worker(handed=("c1",))
    worker.consumer.task_started(is_turn=True)
    worker.consumer.task_started(is_turn=True)
    await worker.live(300)
    full = list(worker.reasons)
    worker.consumer.task_ended()
    await worker.live(10)

    assert full == []
    assert len(worker.reasons) == 1


async def test_a_loop_that_stands_still_ends_the_worker() -> None:
    worker = Worker(loop_turns=False)

    await worker.live(70)

    assert worker.reasons == ["the event loop stands still"]


async def test_a_consumer_that_does_not_come_back_ends_the_worker() -> None:
    worker = Worker(hub_turns=False)

    await worker.live(90)

    assert worker.reasons == ["the consumer has not come back to the broker"]


async def test_without_redis_there_is_nothing_to_restart_for() -> None:
    worker = Worker(handed=("c1",), redis_is_up=False, hub_turns=False)
    await worker.live(600)
    worker.redis_is_up = worker.hub_turns = True
    worker.handed = ()
    await worker.live(300)

    assert worker.reasons == []


async def test_a_broker_of_its_own_may_be_away_while_redis_is_not() -> None:
    worker = Worker(broker_is_store=False, handed=("c1",), hub_turns=False)

    await worker.live(600)

    assert worker.reasons == []


@pytest.mark.parametrize(
    ("shown", "listens"),
    [
        (consumer(), True),
        (consumer(in_poll=None), False),
        (consumer(in_poll=None, can_consume=False), True),  # every slot is taken: it may not ask
        (consumer(queues=()), False),
        (SimpleNamespace(task_consumer=None, pool=SimpleNamespace(num_processes=2)), False),
        # RabbitMQ pushes: there is nothing to ask for.
        (SimpleNamespace(task_consumer=SimpleNamespace(channel=object()), pool=SimpleNamespace(num_processes=2)), True),
    ],
)
def test_listening_is_more_than_turning(shown: Any, listens: bool) -> None:
    clock = Clock()
    watch = ConsumerWatch(clock)
    watch.adopt(shown)
    for _ in range(10):
        clock.now += 2
        watch.tick()

    assert watch.listens is listens


def test_no_tick_no_sign_of_life() -> None:
    clock = Clock()
    watch = ConsumerWatch(clock)
    watch.adopt(consumer())
    clock.now += 14
    before = watch.listens
    clock.now += 2

    assert (before, watch.listens) == (True, False)


def test_the_last_resort_needs_nobody() -> None:
    """Celery's loop hangs, and so does the main thread: the process ends all the same, with the same code."""
    script = (
        "import threading\n"
        "from worker.process.self_check import leave\n"
        "leave(lambda: print('given back', flush=True), last_resort_seconds=0.2)\n"
        "threading.Event().wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )

    assert done.returncode == EXIT_CODE
    assert done.stdout.startswith("given back")


@dataclass
class Ticking:
    """A clock that goes on by so much each time it is asked."""

    step: float
    now: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


async def test_a_worker_lives_once_its_consumer_has_listened_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.process.self_check.LOOK_OFTEN_SECONDS", 0)
    clock = Ticking(0.5)
    watch = ConsumerWatch(clock)
    watch.adopt(consumer())
    begun = clock.now

    await asyncio.wait_for(watch.begins_to_listen(for_seconds=10), 20)

    assert clock.now - begun >= 10
    assert watch.listens


@pytest.mark.parametrize("has_consumer", [True, False])
async def test_a_worker_whose_consumer_does_not_listen_does_not_live(
    has_consumer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.process.self_check.LOOK_OFTEN_SECONDS", 0)
    watch = ConsumerWatch(Ticking(0.5))
    if has_consumer:
        watch.adopt(consumer(in_poll=None))

    listening = asyncio.create_task(watch.begins_to_listen(for_seconds=0.25))
    for _ in range(200):
        await asyncio.sleep(0)
    waits = not listening.done()
    listening.cancel()

    assert waits


async def test_a_break_in_listening_begins_the_while_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.process.self_check.LOOK_OFTEN_SECONDS", 0)
    clock = Clock()
    watch = ConsumerWatch(clock)
    celery = consumer()
    watch.adopt(celery)

    listening = asyncio.create_task(watch.begins_to_listen(for_seconds=10))
    for seconds, in_poll in ((0.5, "a connection"), (6, None), (0.5, "a connection"), (6, "a connection")):
        for _ in range(round(seconds / 0.5)):
            clock.now += 0.5
            celery.task_consumer.channel._in_poll = in_poll
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    waits = not listening.done()
    listening.cancel()

    assert waits
