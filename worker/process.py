"""The worker process: its loop, its house, its heartbeat, its check of itself."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from runtime.heartbeat import beat_for_ever
from runtime.settings import Settings
from worker.house import House, Texts, build_house
from worker.loop import LoopThread
from worker.self_check import ConsumerWatch, SelfCheckThread

T = TypeVar("T")


class WorkerProcess:
    def __init__(self) -> None:
        self._loop = LoopThread()
        self._house: House | None = None
        self._self_check: SelfCheckThread | None = None
        self.consumer = ConsumerWatch()

    def start(self, settings: Settings, texts: Texts) -> None:
        self._loop.start()
        self._house = self._loop.run(build_house(settings, texts))

    def run(self, work: Callable[[House], Coroutine[Any, Any, T]]) -> T:
        return self._loop.run(work(self._at_home()))

    def beat(self, consumer: Any) -> None:
        """From now on the house says every few seconds that this worker lives: its loop turns, its consumer listens."""
        house = self._at_home()
        self.consumer.adopt(consumer)

        async def start() -> asyncio.AbstractEventLoop:
            self._beating = asyncio.create_task(
                beat_for_ever(house.health, "worker", at_work=lambda: self.consumer.listens)
            )
            return asyncio.get_running_loop()

        self._self_check = SelfCheckThread(
            house.settings,
            consumer=self.consumer,
            loop=self._loop.run(start()),
            give_leases_back=lambda: self.drain(0),
        )
        self._self_check.start()

    def drain(self, grace_seconds: float) -> None:
        if self._self_check is not None:
            self._self_check.stop()
        if self._house is not None:
            self._loop.drain(grace_seconds)

    def stop(self) -> None:
        if self._house is not None:
            self._loop.stop(self._house.aclose(), seconds=5)

    def _at_home(self) -> House:
        if self._house is None:
            raise AssertionError("the worker has not started")
        return self._house
