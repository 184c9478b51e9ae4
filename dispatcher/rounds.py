"""Hands what is due to Celery. Any number may run; the pop is atomic.

Publishing blocks, for ever on a frozen broker, so it happens in a thread of its own with a time limit, and a poke that
was not published costs nothing but its redo time: the conversation is still in `due`.
"""

import asyncio
from collections.abc import Sequence

from celery import Celery
from kombu import Producer
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError  # what kombu lets through when its broker is behind Sentinel

from runtime import queue
from runtime.background import Background
from runtime.cancelling import cancel_and_wait
from runtime.clock import monotonic
from runtime.logging import get_logger
from store.connection import StoreUnavailable
from store.health import SystemHealth
from store.heartbeat import beat_for_ever
from store.schedule import Due, Schedule
from store.server.clock_watch import ClockWatch

BATCH = 100
QUOTA = 500  # conversations handed out and not yet claimed: a backlog waits in `due`, not in Celery
ALERT_QUOTA = 100  # alerts in the queue that no worker has taken
COUNT_EVERY_SECONDS = 1.0
LONGEST_SLEEP_SECONDS = 5.0
PUBLISH_SECONDS = 5.0
ROUND_SECONDS = 20.0  # a dispatcher whose round takes longer hangs: it stops its heartbeat

log = get_logger(__name__)


class Dispatcher:
    def __init__(
        self,
        schedule: Schedule,
        health: SystemHealth,
        celery: Celery,
        clock_watch: ClockWatch,
        *,
        background: Background | None = None,
    ) -> None:
        self._schedule = schedule
        self._clock_watch = clock_watch
        self._health = health
        self._celery = celery
        self._background = background or Background()
        self._queued = {queue.TURNS: 0, queue.OPS: 0}
        self._counted_at = float("-inf")
        self._stopping = asyncio.Event()
        self._last_round = monotonic()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop`; an outage of Redis or of the broker is waited out, and said once."""
        self._background.keep("heartbeat", self._beat)
        stopping = asyncio.create_task(self._stopping.wait())
        trouble = 0
        try:
            while not self._stopping.is_set():
                round_ = asyncio.create_task(self._round())
                await asyncio.wait({round_, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not round_.done():
                    await cancel_and_wait(round_)
                    break
                error = asyncio.CancelledError() if round_.cancelled() else round_.exception()
                if error is None:
                    if trouble:
                        log.info("dispatcher_recovered", failed_rounds=trouble)
                    trouble = 0
                    self._last_round = monotonic()
                    continue
                foreseen = isinstance(error, StoreUnavailable | OperationalError | RedisError | TimeoutError | OSError)
                if not foreseen:  # a bug of ours; a dispatcher that ended would silence everybody
                    log.error("dispatcher_round_failed", error=type(error).__name__, exc_info=error)
                elif not trouble:
                    log.error("dispatcher_blocked", error=type(error).__name__, reason=str(error)[:200])
                trouble += 1
                await asyncio.wait({stopping}, timeout=min(0.2 * trouble, 2.0))
        finally:
            stopping.cancel()
            await self._background.aclose()

    async def _beat(self) -> None:
        await beat_for_ever(self._health, "dispatcher", at_work=self._dispatches, count=self._background.count)

    def _dispatches(self) -> bool:
        return monotonic() - self._last_round < ROUND_SECONDS

    async def _round(self) -> None:
        if monotonic() - self._counted_at > COUNT_EVERY_SECONDS:
            async with asyncio.timeout(PUBLISH_SECONDS):
                self._queued = await asyncio.to_thread(self._count_queued)
            self._counted_at = monotonic()
        due = await self._schedule.pop_due(
            limit=BATCH,
            quota=max(QUOTA - self._queued[queue.TURNS], 0),
            alert_limit=max(ALERT_QUOTA - self._queued[queue.OPS], 0),
        )
        popped_at = monotonic()
        self._clock_watch.saw(due.told)
        if due.conversation_ids or due.alert_ids:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await asyncio.to_thread(self._publish, due)
            self._queued[queue.TURNS] += len(due.conversation_ids)
            self._queued[queue.OPS] += len(due.alert_ids)
        elif due.next_in_seconds == 0:  # something is due, but the quota is used up: the workers are behind
            await asyncio.sleep(0.1)
        if await self._clock_watch.mend(*due.conversation_ids):
            return  # deadlines have moved
        # What has become due meanwhile and is earlier than that has woken us already.
        wait = LONGEST_SLEEP_SECONDS if due.next_in_seconds is None else due.next_in_seconds
        wait -= monotonic() - popped_at
        if wait > 0:
            await self._schedule.wait(min(wait, LONGEST_SLEEP_SECONDS))

    def _count_queued(self) -> dict[str, int]:
        """Pokes that no worker has taken. Without this a house without workers fills its broker: what is due is handed
        out again every few seconds, and a poke leaves the queue only when a worker takes it."""
        with self._celery.producer_pool.acquire(block=True, timeout=PUBLISH_SECONDS) as producer:
            return {
                name: producer.channel.queue_declare(  # type: ignore[union-attr]  # kombu types it as any of its parts
                    name, durable=True, exclusive=False, auto_delete=False
                ).message_count
                for name in (queue.TURNS, queue.OPS)
            }

    def _publish(self, due: Due) -> None:
        with self._celery.producer_pool.acquire(block=True, timeout=PUBLISH_SECONDS) as producer:
            self._send(producer, queue.ANSWER, due.conversation_ids)
            self._send(producer, queue.ALERT, due.alert_ids)

    def _send(self, producer: Producer, task: str, ids: Sequence[str]) -> None:
        # No `expires`: it compares the clocks of two machines, and a stale poke claims nothing anyway.
        for member in ids:
            self._celery.send_task(task, args=[member], producer=producer, retry=False)
