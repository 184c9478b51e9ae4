"""A worker that has stopped working says no more that it lives, and ends, so that its supervisor starts it anew.

Celery on Redis has a history of workers that reconnect and then consume nothing (celery/celery#8030, #9054, #10242),
alive to every look from outside. Two things are watched here, each where it cannot be faked by the other:

* Celery's consumer, from within its own event loop: the signal `heartbeat_sent` comes from a timer of that loop, so it
  is silent while the loop hangs or has no broker. At each of its ticks a look at the channel tells whether the loop is
  asking Redis for messages, or may not because every slot is taken.
* The way of a poke: conversations that are handed out, poked again and again and claimed by no worker, while this one
  has free slots and has started nothing. Whatever the reason, it is deaf.

The check has a thread and a connection of its own, so that it also sees that the process's asyncio loop stands still.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack, suppress
from typing import Any

from celery.worker import state

from runtime.background import OVER, Over, repeat, start_thread
from runtime.clock import monotonic
from runtime.logging import get_logger
from runtime.sentry import flush
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect
from store.failure_counts import count_in
from store.health import SystemHealth
from store.scripts import Scripts

log = get_logger(__name__)

EXIT_CODE = 70  # EX_SOFTWARE
PERIOD_SECONDS = 5.0
LOOK_SECONDS = 15.0
PATIENCE_SECONDS = 60.0
LOOK_OFTEN_SECONDS = 0.05
BREAK_SECONDS = 1.0
HEARD_SECONDS = 15.0  # Celery's heartbeat ticks every 2 s
LAST_RESORT_SECONDS = 30.0


class ConsumerWatch:
    """What Celery shows of itself. Signals call in from its threads; plain assignments are all that is shared."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._consumer: Any = None
        self._slots = 0
        self._lock = threading.Lock()
        self._running = 0
        self.turned_at = self.listened_at = self.started_at = clock()

    def adopt(self, consumer: Any) -> None:
        """From `worker_ready`: the consumer, and through it the pool."""
        self._consumer = consumer
        self._slots = int(consumer.pool.num_processes)
        self.turned_at = self.listened_at = self.started_at = self._clock()

    async def begins_to_listen(self, *, for_seconds: float) -> None:
        """Return once the consumer has asked for messages for so long, with no break of a second in it."""
        begun: float | None = None
        last = 0.0
        while begun is None or last - begun < for_seconds:
            now = self._clock()
            if self._consumer is not None and _asks_for_messages(self._consumer):
                if begun is None or now - last >= BREAK_SECONDS:
                    begun = now
                last = self.listened_at = now
            await asyncio.sleep(LOOK_OFTEN_SECONDS)

    def tick(self) -> None:
        """From `heartbeat_sent`, on the consumer's own loop."""
        self.turned_at = self._clock()
        if self._consumer is not None and _asks_for_messages(self._consumer):
            self.listened_at = self.turned_at

    def task_started(self, *, is_turn: bool) -> None:
        """An alert or a lead comes by another queue, and proves nothing of the one that customers wait in."""
        with self._lock:
            self._running += 1
        if is_turn:
            self.started_at = self._clock()

    def task_ended(self) -> None:
        with self._lock:
            self._running -= 1

    @property
    def listens(self) -> bool:
        return self._clock() - self.listened_at < HEARD_SECONDS

    @property
    def has_free_slots(self) -> bool:
        return self._running < self._slots


def _asks_for_messages(consumer: Any) -> bool:
    """On Redis a BRPOP is outstanding whenever a slot is free; other transports are told by their broker."""
    channel = getattr(consumer.task_consumer, "channel", None)
    if channel is None:
        return False
    if not hasattr(channel, "_in_poll"):
        return True
    return bool(channel.active_queues) and bool(channel._in_poll or not channel.qos.can_consume())


class SelfCheck:
    """`look` is asked every few seconds and calls `leave` with the reason, once, when this worker should end.

    `broker_is_store`: Redis is the broker too, so that a consumer without one has no excuse while we have ours.
    """

    def __init__(
        self,
        *,
        consumer: ConsumerWatch,
        handed_out: Callable[[], Awaitable[Collection[str]]],
        loop_turned_at: Callable[[], float],
        leave: Callable[[str], None],
        broker_is_store: bool,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._consumer = consumer
        self._handed_out = handed_out
        self._loop_turned_at = loop_turned_at
        self._leave = leave
        self._broker_is_store = broker_is_store
        self._clock = clock
        self._left = False
        self._unclaimed_since: dict[str, float] = {}
        self._store_well_since = clock()

    async def look(self) -> None:
        if self._left:
            return
        try:
            handed = await self._handed_out()
        except StoreUnavailable:
            # No worker can work without Redis, and to start anew would bring nothing.
            self._store_well_since = self._clock()
            self._unclaimed_since.clear()
            handed = ()
        now = self._clock()
        self._unclaimed_since = {cid: self._unclaimed_since.get(cid, now) for cid in handed}
        if reason := self._why_leave(now):
            self._left = True
            self._leave(reason)

    def _why_leave(self, now: float) -> str:
        def for_too_long(since: float) -> bool:
            return now - since > PATIENCE_SECONDS

        if for_too_long(self._loop_turned_at()):
            return "the event loop stands still"
        consumer = self._consumer
        store_is_well = for_too_long(self._store_well_since)
        if for_too_long(consumer.turned_at) and self._broker_is_store and store_is_well:
            return "the consumer has not come back to the broker"
        broker_is_up = self._broker_is_store or not for_too_long(consumer.turned_at)
        unclaimed = sum(1 for since in self._unclaimed_since.values() if for_too_long(since))
        if unclaimed and for_too_long(consumer.started_at) and consumer.has_free_slots and broker_is_up:
            return f"{unclaimed} conversations wait to be claimed, and no turn arrives"
        return ""


class SelfCheckThread:
    """Runs the check beside everything that it checks, until the process drains."""

    def __init__(
        self,
        settings: Settings,
        *,
        consumer: ConsumerWatch,
        loop: asyncio.AbstractEventLoop,
        give_leases_back: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._consumer = consumer
        self._loop = loop
        self._give_leases_back = give_leases_back
        self._loop_turned_at = monotonic()
        self._stopped = threading.Event()

    def start(self) -> None:
        start_thread("nightshift-self-check", self._run)

    def stop(self) -> None:
        self._stopped.set()

    async def _run(self) -> None:
        env = self._settings.env
        async with AsyncExitStack() as stack:
            client = connect(env.redis_url, max_connections=1, timeout_seconds=3, client_name="nightshift-self-check")
            stack.push_async_callback(client.aclose)
            scripts = Scripts(client)
            check = SelfCheck(
                consumer=self._consumer,
                handed_out=SystemHealth(scripts, self._settings).handed_out,
                loop_turned_at=lambda: self._loop_turned_at,
                leave=self._leave,
                broker_is_store=env.broker_url == env.redis_url,
            )

            async def look() -> Over | None:
                if self._stopped.is_set():
                    return OVER
                with suppress(RuntimeError):  # a loop that is closed turns no more, and that is what is looked for
                    self._loop.call_soon_threadsafe(self._loop_turned)
                await check.look()
                return None

            await repeat(
                "self_check",
                look,
                every_seconds=PERIOD_SECONDS,
                limit_seconds=LOOK_SECONDS,
                longest_wait_seconds=PERIOD_SECONDS,
                count=count_in(scripts),
            )

    def _loop_turned(self) -> None:
        self._loop_turned_at = monotonic()

    def _leave(self, reason: str) -> None:
        log.critical("worker_leaves", reason=reason, exit_code=EXIT_CODE)
        leave(self._give_leases_back)


def leave(give_leases_back: Callable[[], None], *, last_resort_seconds: float = LAST_RESORT_SECONDS) -> None:
    """End this worker with `EXIT_CODE`: in order if Celery's loop still turns, else without it."""
    threading.Thread(
        target=_end_without_celery, args=(last_resort_seconds,), name="nightshift-last-resort", daemon=True
    ).start()
    give_leases_back()
    # What a SIGTERM sets too (celery.apps.worker): the consumer's loop sees it and shuts down, with this code.
    state.should_stop = EXIT_CODE  # type: ignore[assignment]  # it is typed by its default, None


def _end_without_celery(seconds: float) -> None:
    threading.Event().wait(seconds)
    log.critical("worker_ends_the_hard_way", exit_code=EXIT_CODE)
    flush(2)
    os._exit(EXIT_CODE)
