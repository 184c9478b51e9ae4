"""One asyncio loop for the whole process, in a thread of its own; Celery's threads hand their turns to it and wait."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class LoopThread:
    """Started lazily, never before a fork. Everything asynchronous lives here: nothing is shared by two loops."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._draining = False

    def start(self) -> None:
        """Raise RuntimeError when no loop comes up."""
        ready = threading.Event()

        def run() -> None:
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    self._loop = runner.get_loop()
                    self._loop.call_soon(ready.set)
                    self._loop.run_forever()
            finally:
                ready.set()  # also when it never ran: who waits for it would wait for ever

        threading.Thread(target=run, name="nightshift-loop", daemon=True).start()
        ready.wait()
        if self._loop is None:
            raise RuntimeError("the event loop did not start")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for `work`; raise `concurrent.futures.CancelledError` when the process is draining."""
        return asyncio.run_coroutine_threadsafe(self._tracked(work), self._running()).result()

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        if task is None:
            raise AssertionError("a coroutine on a loop has a task")
        self._tasks.add(task)
        try:
            if self._draining:
                work.close()
                raise asyncio.CancelledError
            return await work
        finally:
            self._tasks.discard(task)

    def drain(self, grace_seconds: float) -> None:
        """Let running work finish for `grace_seconds`, then cancel it. Returns at once."""
        loop = self._running()
        loop.call_soon_threadsafe(loop.call_later, grace_seconds, self._cancel_all)

    def _cancel_all(self) -> None:
        self._draining = True
        for task in self._tasks:
            task.cancel()

    def stop(self, closing: Coroutine[Any, Any, None], seconds: float) -> None:
        """Run `closing`, then end the loop."""
        loop = self._running()
        try:
            asyncio.run_coroutine_threadsafe(closing, loop).result(seconds)
        except concurrent.futures.TimeoutError:
            pass  # what is still open ends with the process
        finally:
            loop.call_soon_threadsafe(loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise AssertionError("LoopThread.start() comes first")
        return self._loop
