"""The worker process: its loop, its services, its heartbeat, its check of itself."""

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bot.text.keyed_patterns import KeyedPattern
from runtime.settings import Settings
from store.heartbeat import beat_for_ever
from worker.process.commands import STARTED_ANEW
from worker.process.loop import LoopThread
from worker.process.self_check import ConsumerWatch, SelfCheckThread
from worker.services import Services, build_services
from worker.texts import Texts

T = TypeVar("T")

# How long the consumer listens before the worker says that it lives.
PROOF_SECONDS = 0.25
AFTER_FAILURE_SECONDS = 10.0


class WorkerProcess:
    def __init__(self) -> None:
        self._loop = LoopThread()
        self._services: Services | None = None
        self._self_check: SelfCheckThread | None = None
        self.consumer = ConsumerWatch()

    def start(self, settings: Settings, texts: Texts) -> None:
        self._loop.start()
        self._services = self._loop.run(build_services(settings, texts))

    def run(self, work: Callable[[Services], Coroutine[Any, Any, T]]) -> T:
        return self._loop.run(work(self._started()))

    def beat(self, consumer: Any) -> None:
        """From now on it says every few seconds that this worker lives: its loop turns, its consumer listens."""
        services = self._started()
        self.consumer.adopt(consumer)

        async def start() -> asyncio.AbstractEventLoop:
            count = services.background.count

            async def beating() -> None:
                # A worker that starts, fails and starts anew is ready again and again, and answers no customer.
                settled = AFTER_FAILURE_SECONDS if os.environ.get(STARTED_ANEW) else PROOF_SECONDS
                await self.consumer.begins_to_listen(for_seconds=settled)
                os.environ.pop(STARTED_ANEW, None)
                await beat_for_ever(services.health, "worker", at_work=lambda: self.consumer.listens, count=count)

            services.background.keep("heartbeat", beating)
            services.background.keep("settle_down", settle_down)
            return asyncio.get_running_loop()

        self._self_check = SelfCheckThread(
            services.settings,
            consumer=self.consumer,
            loop=self._loop.run(start()),
            give_leases_back=lambda: self.drain(0),
        )
        self._self_check.start()

    def drain(self, grace_seconds: float) -> None:
        if self._self_check is not None:
            self._self_check.stop()
        if self._services is not None:
            self._loop.drain(grace_seconds)

    def stop(self) -> None:
        if self._services is not None:
            self._loop.stop(self._services.aclose(), seconds=5)

    def _started(self) -> Services:
        if self._services is None:
            raise AssertionError("the worker has not started")
        return self._services


async def settle_down() -> None:
    """What the first customers would else wait for, a few milliseconds at a time: turns go between."""
    for pattern in tuple(KeyedPattern.made):
        pattern.compile()
        await asyncio.sleep(0)
    # All that was loaded stays for the life of the process. To look for garbage in it again and again would stop the
    # loop for 60 ms each time.
    gc.collect()
    gc.freeze()
