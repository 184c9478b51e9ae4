"""The worker process: its loop, its house, its heartbeat."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from runtime.heartbeat import beat_for_ever
from runtime.settings import Settings
from worker.house import House, Texts, build_house
from worker.loop import LoopThread

T = TypeVar("T")


class WorkerProcess:
    def __init__(self) -> None:
        self._loop = LoopThread()
        self._house: House | None = None

    def start(self, settings: Settings, texts: Texts) -> None:
        self._loop.start()
        self._house = self._loop.run(build_house(settings, texts))

    def run(self, work: Callable[[House], Coroutine[Any, Any, T]]) -> T:
        return self._loop.run(work(self._at_home()))

    def beat(self) -> None:
        """From now on the house says every few seconds that this worker lives."""
        house = self._at_home()

        async def start() -> None:
            self._beating = asyncio.create_task(beat_for_ever(house.health, "worker"))

        self._loop.run(start())

    def drain(self, grace_seconds: float) -> None:
        if self._house is not None:
            self._loop.drain(grace_seconds)

    def stop(self) -> None:
        if self._house is not None:
            self._loop.stop(self._house.aclose(), seconds=5)

    def _at_home(self) -> House:
        if self._house is None:
            raise AssertionError("the worker has not started")
        return self._house
