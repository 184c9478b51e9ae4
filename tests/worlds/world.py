"""One world: a seed decides who writes what, who runs when, what breaks, and how time passes; then it becomes calm.

After every step the rules of `books.py` are asked. In the calm nothing breaks any more, and everything that was
written must reach an outcome.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.worlds.books import Books, PromiseBroken
from tests.worlds.course import Course, deeds_of
from tests.worlds.customers import Customers
from tests.worlds.edges import Process, acting
from tests.worlds.meta import Meta
from tests.worlds.meta_side import MetaSide
from tests.worlds.processes import Processes
from tests.worlds.store_side import StoreSide
from tests.worlds.valkey import Texts, WorldValkey
from tests.worlds.virtual_loop import VirtualLoop
from tests.worlds.weather import Weather

CALM_STEPS = 6000
TRACE_LINES = 40
JUMPS = (-3600, -90, -20, -5, 5, 20, 90, 7200, 100_000)  # seconds
# In all: beyond, what a conversation has seen is forgotten while Meta still repeats it, and the door refuses it for its
# age (webhooks/forgotten.py), which no world has.
MOST_JUMPED_MS = 130_000_000


@dataclass(frozen=True)
class Report:
    """How a world went that kept every promise."""

    steps: int
    outcomes: Mapping[str, int]
    trace: list[str]

    @property
    def deeds(self) -> list[str]:
        return deeds_of(self.trace)


class World:
    def __init__(self, valkey: WorldValkey, texts: Texts, weather: Weather, seed: int) -> None:
        self._seed = seed
        self._loop = VirtualLoop(self._idle)
        self._loop.set_task_factory(_note_owner)
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._has_ended = False
        chance = random.Random(f"{weather.name} {seed}")
        books = Books(valkey, texts)
        self._course = Course(weather, chance, self._loop, valkey, texts, books, Meta(), self._kill)
        self._store = StoreSide(self._course)
        self._meta = MetaSide(self._course)

    def play(self) -> Report:
        """Raise `PromiseBroken`, naming the step and what went before, when a rule is broken."""
        course = self._course
        random.seed(self._seed)  # the product's own jitter
        course.valkey.clear(course.texts)
        asyncio.set_event_loop(self._loop)
        try:
            self._customers = Customers(course)
            self._processes = Processes(course, self._break)
            self._loop.run_until_complete(self._done)
            course.books.close(self._customers.written)
        except PromiseBroken as broken:
            raise PromiseBroken(f"{broken}\n{self._story()}") from None
        finally:
            self._tear_down()
        return Report(course.steps, course.books.outcomes, course.trace)

    def _story(self) -> str:
        """How to see it again, and the last things that happened."""
        again = f"python -m tests.worlds --worlds 1 --weather {self._course.weather.name} --seed {self._seed}"
        return "\n".join([f"step {self._course.steps} of {again}", *self._course.trace[-TRACE_LINES:]])

    # One step after the other: the loop asks for one whenever all tasks wait.

    def _idle(self, timer: float | None) -> None:
        course = self._course
        if self._has_ended:
            self._loop.moment += timer or 0.0
            return
        course.steps += 1
        over = course.steps > course.weather.steps or (not self._customers.to_write and self._is_at_rest())
        course.is_calm = course.is_calm or over
        if course.is_calm:
            self._calm_step(timer)
        else:
            self._storm_step(timer)

    def _storm_step(self, timer: float | None) -> None:
        """Any of the things that could happen now."""
        course, weather = self._course, self._course.weather
        choices: list[tuple[float, Callable[[], None]]] = []
        sends, others = self._processes.sends, self._processes.store_calls
        for process in self._processes.all:
            if process.store_calls:
                choices.append((8.0, partial(self._store.serve, process)))
            if late := self._store.late(process, sends, others):
                hurts = any(call.not_before for call in late) and self._store.is_bad_moment(sends, others)
                choices.append((20.0 if hurts else 0.4, partial(self._store.serve_late, late)))
            ready = [call for call in process.http_calls if call.ready_at <= course.moment]
            choices += [(4.0, partial(self._meta.go_on_with, call)) for call in ready]
        is_busy = bool(choices)
        if course.told_now():
            choices.append((3.0, self._deliver))
        if self._customers.to_write or self._customers.other_acts:
            choices.append((weather.acts, self._customers.act))
        if not self._processes.is_popping:
            choices.append((3.0 if self._is_due() else 0.1, self._processes.pop))
        choices.append((weather.slow if is_busy else 2.5, partial(self._let_time_pass, timer)))
        choices.append((2.0 * weather.kill, self._restart_one))
        choices.append((weather.jumps, self._jump))
        (chosen,) = course.chance.choices([act for _, act in choices], [weight for weight, _ in choices])
        chosen()

    def _calm_step(self, timer: float | None) -> None:
        """What comes first of the things that have to happen."""
        course = self._course
        if course.steps > course.weather.steps + CALM_STEPS:
            raise PromiseBroken(f"it does not come to rest: {course.books.open}")
        sends, others = self._processes.sends, self._processes.store_calls
        for process in self._processes.all:
            if late := self._store.late(process, sends, others):
                return self._store.serve_late(late)
            if process.store_calls:
                return self._store.serve(process)
            if process.http_calls:
                return self._meta.go_on_with(process.http_calls[0])
        if course.told_now():
            return self._deliver()
        if not self._processes.is_popping and self._is_due():
            return self._processes.pop()
        if self._is_at_rest():
            return self._done.set_result(None)
        return self._pass(self._next_deadline(timer))

    def _is_at_rest(self) -> bool:
        books = self._course.books
        return not (self._course.webhooks or books.open or books.due or self._processes.are_at_work)

    def _is_due(self) -> bool:
        return any(due <= self._course.server_time for due in self._course.books.due.values())

    def _deliver(self) -> None:
        """One or two webhooks in one POST, mostly in their order, some of them again later."""
        course, chance = self._course, self._course.chance
        ready = course.told_now()
        chosen = ready[:1] if course.is_calm or chance.random() < 0.5 else [chance.choice(ready)]
        if chance.random() < 0.3:
            chosen += [webhook for webhook in ready[:2] if webhook not in chosen]
        for webhook in chosen:
            course.webhooks.remove(webhook)
            if course.happens(0.15):
                course.tell_later(webhook[1], chance.uniform(0, 5))
        events = [event for _, event in chosen]
        course.say(f"Meta tells of {', '.join(type(event).__name__ for event in events)}")
        self._processes.deliver(events)

    # Time.

    def _let_time_pass(self, timer: float | None) -> None:
        chance = self._course.chance
        kind = chance.random()
        if kind < 0.5:
            self._pass(min(self._next_deadline(timer), 400.0))
        elif kind < 0.85:
            self._pass(chance.uniform(0.01, 1.5))
        elif kind < 0.95:
            self._pass(chance.uniform(2, 7))
        else:
            self._pass(16.0)

    def _pass(self, seconds: float) -> None:
        """To a whole millisecond, so that no timer is left a rounding's breadth away."""
        target = round(self._loop.moment + seconds + 0.0005, 3)
        for process in self._processes.all:
            self._meta.time_is_up(process, target)
        self._course.say(f"{target - self._loop.moment:.3f} s pass")
        self._loop.moment = target

    def _next_deadline(self, timer: float | None) -> float:
        """Seconds until something can happen by itself."""
        course = self._course
        calls = [call for process in self._processes.all for call in process.http_calls]
        waits = [when - course.moment for when, _ in course.webhooks]
        waits += [call.ready_at - course.moment for call in calls if call.ready_at > course.moment]
        waits += [(due - course.server_time) / 1000 for due in course.books.due.values()]
        if timer is not None:
            waits.append(timer)
        return max(min(waits, default=1.0), 0.0) + 0.001

    def _jump(self) -> None:
        seconds = self._course.chance.choice(JUMPS)
        if abs(self._course.jumped_ms + seconds * 1000) > MOST_JUMPED_MS:
            return
        self._course.jumped_ms += seconds * 1000
        self._course.books.clock_jumped = True
        self._course.say(f"the server's clock jumps by {seconds} s")

    # The end of processes, and of the world.

    def _restart_one(self) -> None:
        process = self._course.chance.choice(self._processes.all)
        if self._course.chance.random() < 0.4 and self._processes.stop_turns(process):
            self._course.say(f"{process.name} is told to stop")
        else:
            self._kill(process)

    def _kill(self, process: Process) -> None:
        self._course.say(f"{process.name} is killed")
        process.kill()
        self._meta.killed(process)
        self._store.killed(process)
        self._processes.replace(process)

    def _break(self, broken: PromiseBroken) -> None:
        if not self._done.done():
            self._done.set_exception(broken)

    def _tear_down(self) -> None:
        """Nothing of it may outlive it."""
        self._has_ended = True
        for process in self._processes.all:
            process.kill()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        asyncio.set_event_loop(None)
        self._loop.close()


def _note_owner(loop: asyncio.AbstractEventLoop, coroutine: Any, context: Context | None = None) -> "asyncio.Task[Any]":
    """A task belongs to the process of whoever began it."""
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, context=context)
    process = context.get(acting) if context is not None else acting.get()
    if process is not None:
        process.tasks[task] = None
        task.add_done_callback(lambda done: process.tasks.pop(done, None))
    return task
