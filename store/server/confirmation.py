"""Writes that must outlive a failover: they are followed by Redis's WAIT, which counts the replicas that have them.

WAIT holds up its connection and counts only what that connection has written. So these calls have a connection of their
own, and go in rounds: all that came while one round was under way are the next, with one WAIT for them together. A
replica that has stopped answering then costs each of them two rounds, however many they are.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from store.server.multiplexed import Wire, Words, pack

# A replica in reach answers within milliseconds. Two rounds must fit into what a receiver waits for its store
# (webhooks/endpoints.py, Limits.store_seconds), each a little longer, since the server looks at its clock ten times a
# second.
CONFIRM_SECONDS = 0.5


@dataclass(slots=True)
class _Call:
    packed: bytes
    answer: asyncio.Future[Any]
    doubt: asyncio.Future[str]


class Rounds:
    """Belongs to one event loop, as the wire does."""

    def __init__(self, wire: Wire, replicas: int) -> None:
        self._wire = wire
        self._replicas = replicas
        self._waiting: list[_Call] = []
        self._running: asyncio.Task[None] | None = None

    async def call(self, words: Words) -> tuple[Any, asyncio.Future[str]]:
        """The server's answer, as soon as it comes, and what will be known of the replicas: "" when they have it, else
        why that is not sure. Raises redis-py's errors, and this caller alone what its words cannot be packed with."""
        loop = asyncio.get_running_loop()
        call = _Call(pack(words), loop.create_future(), loop.create_future())
        self._waiting.append(call)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await call.answer, call.doubt

    async def _run(self) -> None:
        while self._waiting:
            calls, self._waiting = self._waiting, []
            doubt = "the client was closed"
            try:
                doubt = await self._round(calls)
            except (RedisError, OSError) as exc:
                doubt = type(exc).__name__
                _fail(calls, exc)
            except Exception as exc:  # noqa: BLE001 - all that wait for an answer must learn that none will come
                doubt = type(exc).__name__
                _fail(calls, RedisConnectionError(f"a round failed: {doubt}"))
            finally:
                for call in calls:
                    if not call.doubt.done():
                        call.doubt.set_result(doubt)

    async def _round(self, calls: list[_Call]) -> str:
        wait = pack(("WAIT", self._replicas, round(CONFIRM_SECONDS * 1000)))
        answers = await self._wire.together([*(call.packed for call in calls), wait])
        for answer in answers:  # where the connection breaks, only the first is asked what became of it
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        for call, answer in zip(calls, answers, strict=False):
            try:
                found = await answer
            except ResponseError as exc:  # this caller's alone
                if not call.answer.done():
                    call.answer.set_exception(exc)
            else:
                if not call.answer.done():
                    call.answer.set_result(found)
        try:
            confirmed = int(await answers[-1])
        except ResponseError as exc:
            return str(exc)[:200]  # such as NOPERM: the user may not WAIT
        return "" if confirmed >= self._replicas else f"{confirmed} of {self._replicas} replica(s) confirmed it in time"


def _fail(calls: list[_Call], exc: Exception) -> None:
    for call in calls:
        if not call.answer.done():
            call.answer.set_exception(type(exc)(*exc.args))
