"""The processes of a world: a receiver, a dispatcher, workers with their turns. Each may die at any moment."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from bot.incoming.events import Event
from store.connection import StoreUnavailable
from tests.worlds.books import PromiseBroken
from tests.worlds.course import Course
from tests.worlds.edges import HTTPCall, Process, StoreCall, acting, turn_of
from tests.worlds.product import ACCOUNTS, Dispatcher, Edges, Receiver, settings_of, turn
from worker.services import Services

FORESEEN = ("failed: store", "failed: TurnStuck")


@dataclass
class Worker:
    """`services` are None until it has built itself."""

    process: Process
    services: Services | None = None
    turns: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)


class Processes:
    """`breaks` is told of a rule that was found broken inside a task, which would take it for an error of its own."""

    def __init__(self, course: Course, breaks: Callable[[PromiseBroken], None]) -> None:
        self._course = course
        self._breaks = breaks
        self._popping: asyncio.Task[None] | None = None
        self._edges = Edges(texts=course.texts, moment=lambda: course.moment, server_time=lambda: course.server_time)
        self._start_receiver()
        self._start_dispatcher()
        self._workers = [self._start_worker() for _ in range(course.weather.workers)]

    @property
    def all(self) -> list[Process]:
        return [self._receiving, self._dispatching, *(worker.process for worker in self._workers)]

    @property
    def are_at_work(self) -> bool:
        return any(worker.turns for worker in self._workers) or self.is_popping or bool(self._receiving.tasks)

    @property
    def is_popping(self) -> bool:
        return self._popping is not None

    @property
    def sends(self) -> list[HTTPCall]:
        """Messages on their way to Meta."""
        return [call for worker in self._workers for call in worker.process.http_calls if call.is_send]

    @property
    def store_calls(self) -> list[StoreCall]:
        """What the workers wait for."""
        return [call for worker in self._workers for call in worker.process.store_calls]

    def replace(self, process: Process) -> None:
        """Another one in its place, with nothing of what it knew."""
        if process is self._receiving:
            self._start_receiver()
        elif process is self._dispatching:
            self._start_dispatcher()
        else:
            self._workers = [self._start_worker() if w.process is process else w for w in self._workers]

    def stop_turns(self, process: Process) -> bool:
        """As SIGTERM does: what it has begun is given back. False when it has begun nothing."""
        turns = [running for w in self._workers if w.process is process for running in w.turns.values()]
        for running in turns:
            running.cancel()
        return bool(turns)

    def deliver(self, events: Sequence[Event]) -> None:
        self._spawn(self._receiving, self._receive(self._receiver, events))

    def pop(self) -> None:
        self._popping = self._spawn(self._dispatching, self._hand_out(self._dispatching))

    def _start(self, kind: str) -> Process:
        course = self._course
        return Process(f"{kind}-{next(course.numbers)}", course.loop, lambda: course.moment, self._leaves)

    def _start_receiver(self) -> None:
        settings = settings_of(replicas=self._course.weather.replicas)
        self._receiving = self._start("receiver")
        self._receiver = Receiver(self._edges.scripts(self._receiving, settings), settings)

    def _start_dispatcher(self) -> None:
        settings = settings_of()
        self._dispatching = self._start("dispatcher")
        self._popping = None
        scripts = self._edges.scripts(self._dispatching, settings)
        self._dispatcher = Dispatcher(scripts, settings, lambda: self._course.moment)

    def _start_worker(self) -> Worker:
        weather = self._course.weather
        accounts = ACCOUNTS[:1] if self._course.happens(weather.account_missing) else ACCOUNTS
        settings = settings_of(accounts=accounts, replicas=weather.replicas, look_back=weather.look_back)
        worker = Worker(self._start("worker"))

        async def build() -> None:
            worker.services = await self._edges.worker(worker.process, settings)

        self._spawn(worker.process, build())
        return worker

    def _spawn(self, process: Process, work: Coroutine[Any, Any, None], *, of_turn: str = "") -> "asyncio.Task[None]":
        context = copy_context()
        context.run(acting.set, process)
        context.run(turn_of.set, of_turn)
        return self._course.loop.create_task(work, context=context)

    def _leaves(self, call: HTTPCall) -> None:
        course = self._course
        if call.is_to_model and not course.is_calm:
            call.ready_at = course.moment + course.chance.uniform(*course.weather.model_seconds)
        try:
            course.books.leaves(call, course.server_time)
        except PromiseBroken as broken:
            self._breaks(broken)

    async def _receive(self, receiver: Receiver, events: Sequence[Event]) -> None:
        """What is not acknowledged is told again."""
        try:
            await receiver.receive(events)
        except (StoreUnavailable, asyncio.CancelledError):
            for event in events:
                self._course.tell_later(event, 1.0)

    async def _hand_out(self, process: Process) -> None:
        course = self._course
        try:
            for cid in await self._dispatcher.pop():
                ready = [worker for worker in self._workers if worker.services is not None]
                if ready and not course.happens(course.weather.lost_pokes):
                    self._take_turn(course.chance.choice(ready), cid)
        except StoreUnavailable as exc:
            course.say(f"{process.name}: {exc}")
        finally:
            if process is self._dispatching:
                self._popping = None

    def _take_turn(self, worker: Worker, cid: str) -> None:
        course, services = self._course, worker.services
        name = f"turn-{next(course.numbers)}"

        async def run() -> None:
            assert services is not None
            try:
                word = await turn(services, cid)
                course.say(f"{worker.process.name} {name} ends: {word}")
                if word.startswith("failed") and word not in FORESEEN:
                    self._breaks(PromiseBroken(f"{name} ends in an error of ours: {word}"))
            except StoreUnavailable as exc:
                course.say(f"{worker.process.name} {name} has not begun: {exc}")
            finally:
                worker.turns.pop(name, None)

        worker.turns[name] = self._spawn(worker.process, run(), of_turn=name)
