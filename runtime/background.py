"""Work that goes on beside a process's main work: the one way to run it, so that none of it ends without a word.

A background job is an iteration that is run again and again. Whatever an iteration raises is said once per kind of
trouble, counted, and waited out; only being cancelled ends the job, or the iteration's own word that it is over.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, Final

from bot.errors import NightshiftError
from runtime.clock import monotonic
from runtime.logging import get_logger
from runtime.sentry import capture

log = get_logger(__name__)

LIMIT_SECONDS: Final = 300.0  # an iteration that has not come back by then hangs, and is cut off
LONGEST_WAIT_SECONDS: Final = 30.0  # from one failed iteration to the next
SAID_AGAIN_SECONDS: Final = 600.0  # trouble that comes and goes is said at most this often
STOP_SECONDS: Final = 2.0

Count = Callable[[str, int], Awaitable[None]]
"""Adds so many failed iterations to the books of the job with this name; may raise a `NightshiftError`."""


class Over(Enum):
    """`OVER`: there is nothing left to do, the job ends."""

    OVER = "over"


OVER: Final = Over.OVER
Iteration = Callable[[], Awaitable[object]]


async def repeat(
    name: str,
    iteration: Iteration,
    *,
    every_seconds: float,
    limit_seconds: float | None = LIMIT_SECONDS,
    longest_wait_seconds: float = LONGEST_WAIT_SECONDS,
    count: Count | None = None,
    clock: Callable[[], float] = monotonic,
) -> None:
    """Run `iteration` at once and then every so often, until it returns `OVER` or this task is cancelled.

    After a failure the wait doubles with each further one, from `every_seconds` (at least a tenth of a second) up to
    `longest_wait_seconds`, and never below `every_seconds`. `limit_seconds`: None for an iteration that may take for
    ever. Trouble is told by its class and place: once, and when it is over. `name` stands in the log and in the metric
    `nightshift_background_failures_total`.
    """
    trouble = _Trouble(name, count, clock)
    while True:
        try:
            async with asyncio.timeout(limit_seconds):
                word = await iteration()
        except asyncio.CancelledError as exc:
            # Not ours: what the iteration waited for was cancelled, and that is a failure like any other.
            _heed_cancelling(exc)
            await trouble.failed(exc)
        except Exception as exc:  # noqa: BLE001 - the one place for all of them: a job outlives its iterations
            await trouble.failed(exc)
        else:
            await trouble.over()
            if word is OVER:
                return
        _heed_cancelling()
        await asyncio.sleep(trouble.wait_seconds(every_seconds, longest_wait_seconds))


def _heed_cancelling(exc: asyncio.CancelledError | None = None) -> None:
    """Raise when this task was cancelled, also where a library has swallowed that (see runtime/cancelling.py)."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise exc or asyncio.CancelledError


class _Trouble:
    """What one job has failed with since it last went well."""

    def __init__(self, name: str, count: Count | None, clock: Callable[[], float]) -> None:
        self._name = name
        self._count = count
        self._clock = clock
        self._said: dict[str, float] = {}
        self._rounds = 0
        self._uncounted = 0
        self._is_said = False

    async def failed(self, exc: BaseException) -> None:
        self._rounds += 1
        self._uncounted += 1
        foreseen = isinstance(exc, NightshiftError) and not exc.is_bug
        kind = _kind_of(exc)
        if kind not in self._said:
            self._said[kind] = self._clock()
            self._is_said = True
            if foreseen:
                log.warning("background_job_waits", job=self._name, error=type(exc).__name__, reason=str(exc)[:200])
            else:
                log.error("background_job_failed", job=self._name, error=type(exc).__name__, exc_info=exc)
                capture(exc)
        if not (isinstance(exc, NightshiftError) and exc.is_waited_out):  # one server is not waited for twice
            await self._tell()

    async def over(self) -> None:
        if self._rounds:
            if self._is_said:
                log.info("background_job_recovered", job=self._name, failed_rounds=self._rounds)
            now = self._clock()
            self._said = {kind: at for kind, at in self._said.items() if now - at < SAID_AGAIN_SECONDS}
            self._rounds, self._is_said = 0, False
        if self._uncounted:
            await self._tell()

    def wait_seconds(self, every: float, longest: float) -> float:
        if not self._rounds:
            return every
        return max(every, min(max(every, 0.1) * 2.0 ** min(self._rounds - 1, 16), longest))

    async def _tell(self) -> None:
        """What cannot be counted now is counted later: the trouble may be that Redis is away."""
        if self._count is None:
            return
        try:
            await self._count(self._name, self._uncounted)
        except Exception as exc:  # noqa: BLE001 - a job does not end because its failures cannot be counted
            log.debug("background_failures_uncounted", job=self._name, error=type(exc).__name__)
        else:
            self._uncounted = 0


def _kind_of(exc: BaseException) -> str:
    """Two bugs of one class are two kinds of trouble; where a foreseen failure was raised says nothing."""
    if isinstance(exc, NightshiftError):
        return type(exc).__name__
    where = exc.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return f"{type(exc).__name__} {where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else repr(type(exc))


class Background:
    """The background jobs of one event loop; its maker closes it."""

    def __init__(self, *, count: Count | None = None) -> None:
        self.count = count
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def keep(self, name: str, work: Callable[[], Awaitable[object]], *, again_seconds: float = 5.0) -> None:
        """Run `work` in a task of its own until it returns; should it fail as a whole, it is begun anew."""

        async def whole() -> Over:
            await work()
            return OVER

        running = repeat(name, whole, every_seconds=again_seconds, limit_seconds=None, count=self.count)
        task = asyncio.create_task(running, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def aclose(self) -> None:
        """Cancel all of them, and wait for their ends for `STOP_SECONDS` at most."""
        self._closing = True
        running = set(self._tasks)
        for task in running:
            task.cancel()
        if running:
            _, late = await asyncio.wait(running, timeout=STOP_SECONDS)
            for task in late:
                log.warning("background_job_does_not_stop", job=task.get_name())

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled():
            if not self._closing:
                log.critical("background_job_ended", job=task.get_name(), error="cancelled")
        elif (error := task.exception()) is not None:
            log.critical("background_job_ended", job=task.get_name(), error=type(error).__name__, exc_info=error)
            capture(error)


def start_thread(name: str, main: Callable[[], Coroutine[Any, Any, None]], *, again_seconds: float = 5.0) -> None:
    """`main` on an event loop and in a daemon thread of its own, begun anew when it fails, until it returns."""

    def run() -> None:
        while True:
            try:
                asyncio.run(main())
            except Exception as exc:
                log.exception("background_thread_failed", thread=name, error=type(exc).__name__)
                capture(exc)
            else:
                return
            threading.Event().wait(again_seconds)

    threading.Thread(target=run, name=name, daemon=True).start()


__all__ = ["OVER", "Background", "Iteration", "Over", "repeat", "start_thread"]
