"""Runs a workload, customers on a loop of their own and faults in the calling thread, then waits for calm."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from rehearsal.customers import CustomerRun, Customers
from rehearsal.evidence import Evidence, Read
from rehearsal.fault_injector import FaultInjector
from rehearsal.observer import Observer
from rehearsal.workload import Workload

T = TypeVar("T")
_TICK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Progress:
    """`phase` is what happens now; `share` of the whole goes from 0 to 1 and then waits for calm."""

    phase: str
    share: float
    messages: int
    open: int | None


class Run:
    """`worker_every_seconds` adds a SIGKILL of a worker every so often; 0 means never."""

    def __init__(
        self,
        customers: Customers,
        injector: FaultInjector,
        workload: Workload,
        *,
        redis_url: str,
        limit_seconds: float,
        again_seconds: float,
        settle_seconds: float,
        worker_every_seconds: float = 0.0,
        show: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._customers = customers
        self._injector = injector
        self._workload = workload
        self._redis_url = redis_url
        self._limit_seconds = limit_seconds
        self._again_seconds = again_seconds
        self._settle_seconds = settle_seconds
        self._worker_every_seconds = worker_every_seconds
        self._show = show
        self._loop = _Loop()

    def run(self) -> tuple[Evidence, Observer]:
        """Raise `StoreUnavailable` when the ledger cannot be read before or after the play."""
        try:
            observer = self._loop.run(_open(self._redis_url))
            before = self._loop.run(observer.look()).sums.received
            watching = self._loop.start(observer.watch())
            self._play()
            self._wait_for_calm(observer)
            watching.cancel()
            return self._loop.run(self._evidence(observer, before)), observer
        finally:
            self._injector.mend_everything()
            self._loop.stop()

    def _play(self) -> None:
        scenes = self._workload.scenes
        started = time.monotonic()
        playing = self._loop.start(self._customers.play(scenes, started_at=self._loop.time()))
        waiting = [scene for scene in scenes if scene.fault.strike is not None]
        if self._worker_every_seconds:
            self._injector.start("worker")  # so that one lives while the other is made anew
        next_kill = started + self._worker_every_seconds
        total = max(self._workload.seconds, 1.0)
        while waiting or not playing.done() or self._injector.busy:
            now = time.monotonic()
            self._injector.do_what_is_due()
            if waiting and waiting[0].strikes_at <= now - started:
                scene = waiting.pop(0)
                if scene.fault.strike is not None:
                    scene.fault.strike(self._injector)
            if self._worker_every_seconds and now >= next_kill and now - started < total:
                next_kill = now + self._worker_every_seconds
                self._injector.kill("worker")
            self._injector.supervise()
            self._tell("playing", min((now - started) / total, 1.0), None)
            time.sleep(_TICK_SECONDS)
        playing.result()

    def _wait_for_calm(self, observer: Observer) -> None:
        """Until everything has its outcome and every alert was told, or the time for it is over."""
        deadline = time.monotonic() + self._settle_seconds
        seen = observer.looks + 1  # a look that began before the end of the play proves nothing
        while time.monotonic() < deadline:
            self._injector.supervise()
            latest = observer.latest
            if latest is not None and latest.settled and observer.looks > seen:
                return
            self._tell("settling", 1.0, latest.sums.open if latest else None)
            time.sleep(_TICK_SECONDS)

    def _tell(self, phase: str, share: float, still_open: int | None) -> None:
        messages = sum(len(one.posts) for one in list(self._customers.customer_runs.values()))
        self._show(Progress(phase, share, messages, still_open))

    async def _evidence(self, observer: Observer, received_before: int) -> Evidence:
        customer_runs = list(self._customers.customer_runs.values())
        ids = [customer.conversation_id for customer in customer_runs]
        try:
            last = await observer.look()
            steps = await observer.steps_of(ids)
            leftovers = await observer.leftovers(ids)
        finally:
            await observer.aclose()
        return Evidence(
            customer_runs=customer_runs,
            steps=steps,
            read=self._read(customer_runs),
            alerts=[message["text"] for message in list(self._customers.telegram.messages)],
            sums=last.sums,
            limit_seconds=self._limit_seconds,
            again_seconds=self._again_seconds,
            received_before=received_before,
            unbalanced=tuple(observer.unbalanced),
            leftovers=leftovers,
            undelivered_alerts=last.alerts_waiting,
        )

    def _read(self, customer_runs: list[CustomerRun]) -> dict[str, list[Read]]:
        read: dict[str, list[Read]] = {one.person.customer_id: [] for one in customer_runs}
        for message in list(self._customers.meta.sent):
            if message["to"] in read:
                read[message["to"]].append(Read(message["text"], message["at"]))
        return read


async def _open(redis_url: str) -> Observer:
    return Observer(redis_url)


class _Loop:
    """An asyncio loop in a thread; customers write there while this thread kills processes."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rehearsal", daemon=True)
        self._thread.start()

    def time(self) -> float:
        return self._loop.time()

    def start(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.start(work).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


__all__ = ["Progress", "Run"]
