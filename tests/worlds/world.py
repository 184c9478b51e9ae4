"""One world: a seed decides who writes what, who runs when, what breaks, and how time passes; then it becomes calm.

After every step the rules of `books.py` are asked. In the calm nothing breaks any more, and everything that was
written must reach an outcome.
"""

import asyncio
import random
import re
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    PolicyEnforcement,
    ThreadControl,
)
from store.connection import StoreUnavailable
from store.hashing import key_of
from tests.worlds import model
from tests.worlds.books import Books, PromiseBroken
from tests.worlds.edges import HTTPCall, Process, StoreCall, acting, turn_of
from tests.worlds.meta import Kept, Meta, answer, contact_of, refusal
from tests.worlds.product import ACCOUNTS, APP_ID, Dispatcher, Edges, Receiver, settings_of, turn
from tests.worlds.valkey import Texts, WorldValkey
from tests.worlds.virtual_loop import VirtualLoop
from tests.worlds.weather import Weather
from worker.services import House

BEGAN_AT = 1_900_000_000_000  # the server's clock at a world's first moment, later than any true one
META_SECONDS = 10.0  # so long after it was made a send may still arrive; as settling.py, SEND_TIMEOUT_MS
BAD_MOMENT_SECONDS = 25.0  # so long a stray call waits for one
CALM_STEPS = 6000
TRACE_LINES = 40
WORDS = ("Сколько стоит кружка?", "А доставка есть?", "Хочу заказать вазу", "Есть ли скидки?", "Добрый вечер!")
SPECIAL = ("Позовите человека", "Не пишите мне больше")
_CHANCE = re.compile(r"\b[0-9a-f]{12,16}\b|(?<= )[0-9.]+(?= s pass)|(?<=\d ) *[0-9]+\.[0-9]{3}(?=  )")
FORESEEN = ("failed: store", "failed: TurnStuck")


@dataclass
class Worker:
    """A process that takes turns; `house` is None until it has built itself."""

    process: Process
    house: House | None = None
    turns: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)


@dataclass
class Customer:
    contact: Contact
    written: list[str] = field(default_factory=list)  # mids
    edits: dict[str, int] = field(default_factory=dict)


@dataclass
class Report:
    seed: int
    weather: str
    steps: int
    outcomes: dict[str, int]
    trace: Sequence[str]

    @property
    def deeds(self) -> list[str]:
        """The trace without what differs each time: tokens, what the store answers of them, and milliseconds, since its
        times to live go on while a world is played."""
        return [_CHANCE.sub("", line.partition(" -> ")[0]) for line in self.trace]


class World:
    def __init__(self, valkey: WorldValkey, texts: Texts, weather: Weather, seed: int) -> None:
        self._weather, self._seed = weather, seed
        self._chance = random.Random(f"{weather.name} {seed}")
        self._valkey = valkey
        self._loop = VirtualLoop(self._idle)
        self._loop.set_task_factory(_note_owner)
        self._books = Books(valkey, texts)
        self._meta = Meta()
        self._edges = Edges(texts=texts, moment=lambda: self._loop.moment, server_time=lambda: self._server_time)
        self._steps = 0
        self._jumped_ms = 0
        self._aged_to = 0.0
        self._numbers = count(1)
        self._answers = count(0, 2)
        self._trace: list[str] = []
        self._webhooks: list[tuple[float, Event]] = []
        self._customers: list[Customer] = []
        self._to_write = weather.messages
        self._other_acts = weather.other_acts
        self._workers: list[Worker] = []
        self._calm = self._ended = False
        self._done: asyncio.Future[None] = self._loop.create_future()

    def play(self) -> Report:
        """Raise `PromiseBroken`, naming the step and what went before, when a rule is broken."""
        random.seed(self._seed)  # the product's own jitter
        self._valkey.clear(self._edges.texts)
        asyncio.set_event_loop(self._loop)
        try:
            self._begin()
            self._loop.run_until_complete(self._done)
            self._books.close([(c.contact.conversation_id, key_of("message", m)) for c in self._customers for m in c.written])
        except PromiseBroken as broken:
            raise PromiseBroken(f"{broken}\n{self.story()}") from None
        finally:
            self._tear_down()
        return Report(self._seed, self._weather.name, self._steps, dict(self._books.outcomes), self._trace)

    def story(self) -> str:
        """How to see it again, and the last things that happened."""
        again = f"python -m tests.worlds --weather {self._weather.name} --seed {self._seed}"
        return "\n".join([f"step {self._steps} of {again}", *self._trace[-TRACE_LINES:]])

    # Who is there.

    def _begin(self) -> None:
        weather = self._weather
        for number in range(weather.customers):
            account = self._chance.choice(ACCOUNTS)
            contact = Contact(Channel(account.channel), account.id, str(9_001_000_000_000_000 + number))
            self._customers.append(Customer(contact))
            self._books.meet(contact)
        self._start_receiver()
        self._start_dispatcher()
        self._workers = [self._start_worker() for _ in range(weather.workers)]

    def _process(self, kind: str) -> Process:
        return Process(f"{kind}-{next(self._numbers)}", self._loop, lambda: self._loop.moment, self._leaves)

    def _start_receiver(self) -> None:
        settings = settings_of(replicas=self._weather.replicas)
        self._receiving = self._process("receiver")
        self._receiver = Receiver(self._edges.scripts(self._receiving, settings), settings)

    def _start_dispatcher(self) -> None:
        settings = settings_of()
        self._dispatching = self._process("dispatcher")
        self._popping: asyncio.Task[None] | None = None
        scripts = self._edges.scripts(self._dispatching, settings)
        self._dispatcher = Dispatcher(scripts, settings, lambda: self._loop.moment)

    def _start_worker(self) -> Worker:
        weather = self._weather
        lacks = not self._calm and self._chance.random() < weather.account_missing
        accounts = ACCOUNTS[:1] if lacks else ACCOUNTS
        settings = settings_of(accounts=accounts, replicas=weather.replicas, look_back=weather.look_back)
        worker = Worker(self._process("worker"))

        async def build() -> None:
            worker.house = await self._edges.worker(worker.process, settings)

        self._spawn(worker.process, build())
        return worker

    def _spawn(self, process: Process, work: Coroutine[Any, Any, None], *, of_turn: str = "") -> "asyncio.Task[None]":
        context = copy_context()
        context.run(acting.set, process)
        context.run(turn_of.set, of_turn)
        return self._loop.create_task(work, context=context)

    # What time it is.

    @property
    def _server_time(self) -> int:
        return BEGAN_AT + round(self._loop.moment * 1000) + self._jumped_ms

    @property
    def _true_time(self) -> int:
        return BEGAN_AT + round(self._loop.moment * 1000)

    def _pass(self, seconds: float) -> None:
        """To a whole millisecond, so that no timer is left a rounding's breadth away."""
        target = round(self._loop.moment + seconds + 0.0005, 3)
        for worker in self._workers:
            for call in list(worker.process.http_calls):
                if call.is_send and not call.arrived and call.since + META_SECONDS <= target:
                    self._decide_send(call)
        self._say(f"{target - self._loop.moment:.3f} s pass")
        self._loop.moment = target

    def _next_deadline(self, timer: float | None) -> float:
        """Seconds until something can happen by itself."""
        waits = [max(when - self._loop.moment, 0.0) for when, _ in self._webhooks]
        calls = [call for process in self._processes() for call in process.http_calls]
        waits += [call.ready_at - self._loop.moment for call in calls if call.ready_at > self._loop.moment]
        waits += [max(due - self._server_time, 0.0) / 1000 for due in self._books.due.values()]
        if timer is not None:
            waits.append(timer)
        return min(waits, default=1.0) + 0.001

    def _say(self, what: str) -> None:
        self._trace.append(f"{self._steps:5} {self._loop.moment:10.3f}  {what}")

    # One step after the other.

    def _idle(self, timer: float | None) -> None:
        if self._ended:
            self._loop.moment += timer or 0.0
            return
        self._steps += 1
        self._calm = self._calm or self._steps > self._weather.steps or (not self._to_write and self._is_at_rest())
        if self._calm:
            self._calm_step(timer)
        else:
            self._storm_step(timer)

    def _storm_step(self, timer: float | None) -> None:
        weather, chance = self._weather, self._chance
        choices: list[tuple[float, Callable[[], None]]] = []
        for process in self._processes():
            if process.store_calls:
                choices.append((8.0, lambda p=process: self._serve(p)))
            if late := self._late(process):
                hurts = any(call.not_before for call in late) and self._is_bad_moment()
                choices.append((20.0 if hurts else 0.4, lambda p=process: self._serve_late(p)))
            ready = [call for call in process.http_calls if call.ready_at <= self._loop.moment]
            choices += [(4.0, lambda c=call: self._answer(c)) for call in ready]
        is_busy = bool(choices)
        if self._ready_webhooks():
            choices.append((3.0, self._deliver))
        if self._to_write or self._other_acts:
            choices.append((weather.acts, self._act))
        if self._popping is None:
            is_due = any(due <= self._server_time for due in self._books.due.values())
            choices.append((3.0 if is_due else 0.1, self._pop))
        choices.append((weather.slow if is_busy else 2.5, lambda: self._let_time_pass(timer)))
        choices.append((0.5 * weather.kill * 4, self._restart_one))
        if weather.jumps:
            choices.append((weather.jumps, self._jump))
        (chosen,) = chance.choices([act for _, act in choices], [weight for weight, _ in choices])
        chosen()

    def _calm_step(self, timer: float | None) -> None:
        if self._steps > self._weather.steps + CALM_STEPS:
            raise PromiseBroken(f"it does not come to rest: {self._books.open}")
        for process in self._processes():
            if self._late(process):
                return self._serve_late(process)
            if process.store_calls:
                return self._serve(process)
            if process.http_calls:
                return self._answer(process.http_calls[0])
        if self._ready_webhooks():
            return self._deliver()
        if self._popping is None and any(due <= self._server_time for due in self._books.due.values()):
            return self._pop()
        if self._is_at_rest():
            self._done.set_result(None)
            return None
        return self._pass(self._next_deadline(timer))

    def _is_at_rest(self) -> bool:
        at_work = any(worker.turns for worker in self._workers) or self._popping is not None
        return not (self._webhooks or self._books.open or self._books.due or at_work or self._receiving.tasks)

    def _processes(self) -> list[Process]:
        return [self._receiving, self._dispatching, *(worker.process for worker in self._workers)]

    def _let_time_pass(self, timer: float | None) -> None:
        kind = self._chance.random()
        if kind < 0.5:
            self._pass(min(self._next_deadline(timer), 400.0))
        elif kind < 0.85:
            self._pass(self._chance.uniform(0.01, 1.5))
        elif kind < 0.95:
            self._pass(self._chance.uniform(2, 7))
        else:
            self._pass(16.0)

    def _jump(self) -> None:
        seconds = self._chance.choice((-3600, -90, -20, -5, 5, 20, 90, 7200, 100_000))
        self._jumped_ms += seconds * 1000
        self._books.clock_jumped = True
        self._say(f"the server's clock jumps by {seconds} s")

    def _restart_one(self) -> None:
        process = self._chance.choice(self._processes())
        worker = next((worker for worker in self._workers if worker.process is process), None)
        if worker is not None and worker.turns and self._chance.random() < 0.4:
            self._say(f"{process.name} is told to stop")
            for running in worker.turns.values():
                running.cancel()
            return
        self._kill(process)

    # The store.

    def _serve(self, process: Process) -> None:
        weather, luck = self._weather, self._chance.random()
        call = process.store_calls[0]
        if self._calm:
            luck = 1.0
        fails = weather.store_refused
        if self._books.is_decision(call) and self._books.name_of(call.calls[0]) == "renew":
            fails += weather.renew_fails
        if luck < fails:
            self._say(f"{process.name}: {_short(call)} does not reach the store")
            self._take(process)
            call.fails(RedisConnectionError("Connection lost"))
            process.lose_connection(RedisConnectionError("Connection lost"))
            return
        if not self._calm and self._books.is_decision(call) and self._chance.random() < self._stray(call):
            self._say(f"{process.name}: {_short(call, self._books)} goes astray")
            call.not_before = self._loop.moment + self._chance.uniform(*weather.stray_seconds)
            process.lose_connection(RedisConnectionError("Connection lost"))
            return
        luck -= fails
        if luck < weather.kill / 2:
            self._take(process)
            self._say(f"{process.name} dies before {_short(call)}")
            self._kill(process)
            return
        self._take(process)
        answers = self._do(call)
        luck -= weather.kill / 2
        if luck < weather.kill / 2:
            self._say(f"{process.name} dies after {_short(call)}")
            self._kill(process)
            return
        luck -= weather.kill / 2
        if luck < weather.store_lost:
            self._say(f"{process.name}: the answer to {_short(call)} is lost")
            call.fails(RedisConnectionError("Connection lost"))
            process.lose_connection(RedisConnectionError("Connection lost"))
            return
        for future, found in zip(call.answers, answers, strict=True):
            if future.done():
                continue
            if isinstance(found, ResponseError):
                future.set_exception(found)
            else:
                future.set_result(found)

    def _is_bad_moment(self) -> bool:
        """Another turn sends, or is about to begin: when what comes late does the most harm."""
        if self._weather.strays_wait_for == "claim":
            calls = [call for worker in self._workers for call in worker.process.store_calls]
            return any(self._books.name_of(call.calls[0]) == "claim" for call in calls)
        return any(call.is_send for worker in self._workers for call in worker.process.http_calls)

    def _take(self, process: Process) -> None:
        process.store_calls.popleft().leaves_queue()

    def _stray(self, call: StoreCall) -> float:
        """The chance that it arrives only when the lease is another's."""
        rare = {self._books.name_of(words) for words in call.calls} & set(self._weather.strays_of)
        return 0.5 if rare else self._weather.stray

    def _late(self, process: Process) -> list[StoreCall]:
        """What may be done now of what was given up."""
        patience = BAD_MOMENT_SECONDS if self._weather.strays_wait_for and not (self._calm or self._is_bad_moment()) else 0.0
        return [call for call in process.limbo if call.not_before + (call.not_before and patience) <= self._loop.moment]

    def _serve_late(self, process: Process) -> None:
        """What was written to a connection that its client has given up: done all the same, or not."""
        call = self._chance.choice(self._late(process))
        process.limbo.remove(call)
        if call.not_before or self._chance.random() < 0.5:
            self._say(f"{process.name}: done late")
            self._do(call)

    def _do(self, call: StoreCall) -> list[Any]:
        passed = round((self._loop.moment - self._aged_to) * 1000)
        if passed:
            self._valkey.pass_time(passed)
            self._aged_to = self._loop.moment
        confirmed = 0 if not self._calm and self._chance.random() < self._weather.unconfirmed else 1
        try:
            answers = self._books.ask(call, self._server_time, confirmed=confirmed)
        except ResponseError as exc:
            raise PromiseBroken(f"the store refuses {_short(call)}: {exc}") from exc
        self._say(f"{call.process.name} {call.turn} {_short(call, self._books)} -> {str(answers)[:70]}")
        return answers

    def _kill(self, process: Process) -> None:
        self._say(f"{process.name} is killed")
        process.kill()
        for call in list(process.http_calls):
            if call.is_send and not call.arrived and self._chance.random() < 0.5:
                self._arrive(call)
        process.http_calls.clear()
        for call in process.limbo:
            if self._chance.random() < 0.5:
                self._do(call)
        process.limbo.clear()
        if process is self._receiving:
            self._start_receiver()
        elif process is self._dispatching:
            self._start_dispatcher()
        else:
            self._workers = [
                self._start_worker() if worker.process is process else worker for worker in self._workers
            ]

    # Meta and the model.

    def _leaves(self, call: HTTPCall) -> None:
        if call.is_to_model and not self._calm:
            call.ready_at = self._loop.moment + self._chance.uniform(*self._weather.model_seconds)
        try:
            self._books.leaves(call, self._server_time)
        except PromiseBroken as broken:  # raised in a turn, which would take it for an error of its own
            self._break(broken)

    def _answer(self, call: HTTPCall) -> None:
        if call.answer.done():  # its caller waits no more
            call.process.http_calls.remove(call)
            if call.is_send and not call.arrived and self._chance.random() < 0.5:
                self._arrive(call)
        elif call.is_to_model:
            self._finish(call, *self._model_says())
        elif call.is_send:
            self._go_on_with_send(call)
        elif call.request.method == "GET" and call.request.url.path.endswith("/conversations"):
            fails = not self._calm and self._chance.random() < self._weather.read_fails
            found = refusal(self._chance.choice(("unavailable", "throttled"))) if fails else None
            self._finish(call, found or self._meta.read(call, moment=self._loop.moment))
        else:
            self._finish(call, answer({}))

    def _model_says(self) -> tuple[httpx.Response | None]:
        if not self._calm and self._chance.random() < self._weather.model_fails:
            fault = self._chance.choice(model.FAULTS)
            return (None if fault == "broken" else model.failure(fault),)
        return (model.completion(f"{model.reply(next(self._answers), self._chance)}\n{model.TAGS}"),)

    def _go_on_with_send(self, call: HTTPCall) -> None:
        weather, luck = self._weather, 1.0 if self._calm else self._chance.random()
        if call.arrived:
            if luck < weather.kill_sending:
                self._say(f"{call.process.name} dies between a send and its record")
                self._kill(call.process)
            else:
                self._finish(call, None if luck - weather.kill_sending < weather.meta_lost else call.response)
        elif luck < weather.meta_broken:
            self._finish(call, None)
        elif luck - weather.meta_broken < weather.meta_refused:
            self._finish(call, refusal(self._chance.choice(weather.refusals)))
        else:
            self._arrive(call)
            if self._calm:
                self._finish(call, call.response)

    def _decide_send(self, call: HTTPCall) -> None:
        """Later it will not arrive any more."""
        if self._chance.random() < 0.5:
            self._arrive(call)
        elif not call.answer.done():
            self._finish(call, None)
        else:
            call.process.http_calls.remove(call)

    def _arrive(self, call: HTTPCall) -> None:
        lag = 0.0 if self._calm else self._chance.uniform(0, self._weather.read_lag)
        echo = self._meta.arrive(call, at_ms=self._true_time, visible_from=self._loop.moment + lag)
        self._say(f"{call.process.name} {call.turn} reaches the customer: {call.body['message']['text'][:40]!r}")
        self._books.arrives(call)
        for _ in range(self._chance.choice((0, 1, 1, 1, 2))):
            later = self._chance.choice((0.0, 0.0, 0.3, 3.0, 40.0))
            self._webhooks.append((self._loop.moment + later, echo))

    def _finish(self, call: HTTPCall, response: httpx.Response | None) -> None:
        """None: the connection breaks, and what became of the request is not known."""
        call.process.http_calls.remove(call)
        status = response.status_code if response else "lost"
        self._say(f"{call.process.name} {call.turn} {call.request.method} {call.request.url.path} -> {status}")
        if call.answer.done():
            return
        if response is None:
            call.answer.set_exception(httpx.ReadError("the connection was lost", request=call.request))
        else:
            response.request = call.request
            call.answer.set_result(response)

    # Customers, people, and Meta's webhooks.

    def _ready_webhooks(self) -> bool:
        return any(when <= self._loop.moment for when, _ in self._webhooks)

    def _deliver(self) -> None:
        ready = [webhook for webhook in self._webhooks if webhook[0] <= self._loop.moment]
        chosen = ready[:1] if self._calm or self._chance.random() < 0.5 else [self._chance.choice(ready)]
        if self._chance.random() < 0.3:
            chosen += [webhook for webhook in ready[:2] if webhook not in chosen]
        events = [event for _, event in chosen]
        for webhook in chosen:
            self._webhooks.remove(webhook)
            if not self._calm and self._chance.random() < 0.15:
                self._webhooks.append((self._loop.moment + self._chance.uniform(0, 5), webhook[1]))
        self._say(f"Meta tells of {', '.join(type(event).__name__ for event in events)}")
        self._spawn(self._receiving, self._receive(self._receiver, events))

    async def _receive(self, receiver: Receiver, events: Sequence[Event]) -> None:
        """What is not acknowledged is told again."""
        try:
            await receiver.receive(events)
        except (StoreUnavailable, asyncio.CancelledError):
            self._webhooks += [(self._loop.moment + 1, event) for event in events]

    def _act(self) -> None:
        weather, chance = self._weather, self._chance
        customer = chance.choice(self._customers)
        kinds: list[tuple[float, Callable[[Customer], Event | None]]] = [
            (weather.humans, self._human_writes),
            (0.15, self._acts_otherwise),
            (weather.policy, self._policy),
            (weather.failing, self._fails),
        ]
        if not self._other_acts:
            kinds = []
        if self._to_write:
            kinds.append((3.0, self._writes))
        if customer.written and self._other_acts:
            kinds += [(weather.edits, self._edits), (weather.deletions, self._takes_back)]
        (kind,) = chance.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        if kind != self._writes:
            self._other_acts -= 1
        if event := kind(customer):
            self._webhooks.append((self._loop.moment, event))

    def _writes(self, customer: Customer) -> Event:
        self._to_write -= 1
        mid = f"m_{next(self._numbers)}"
        said = self._chance.choice(SPECIAL if self._chance.random() < 0.08 else WORDS)
        customer.written.append(mid)
        self._meta.keep(
            customer.contact, Kept(mid, customer.contact.customer_id, said, self._true_time, self._loop.moment)
        )
        self._say(f"{customer.contact.conversation_id} writes {mid}")
        return CustomerMessage(customer.contact, MessageKind.MESSAGE, mid, self._true_time, said)

    def _edits(self, customer: Customer) -> Event:
        mid = self._chance.choice(customer.written)
        number = customer.edits[mid] = customer.edits.get(mid, 0) + 1
        self._say(f"{customer.contact.conversation_id} edits {mid}")
        return Edit(customer.contact, mid, self._true_time, f"{self._chance.choice(WORDS)} ({number})", number)

    def _takes_back(self, customer: Customer) -> Event:
        mid = self._chance.choice(customer.written)
        self._say(f"{customer.contact.conversation_id} takes {mid} back")
        return Deletion(customer.contact, mid, self._true_time)

    def _human_writes(self, customer: Customer) -> Event:
        mid = f"m_human_{next(self._numbers)}"
        said = f"Это менеджер, пишу сам. {mid}"
        self._meta.keep(customer.contact, Kept(mid, customer.contact.account_id, said, self._true_time, self._loop.moment))
        self._say(f"a human writes to {customer.contact.conversation_id}")
        return Echo(customer.contact, mid, self._true_time, said)

    def _acts_otherwise(self, customer: Customer) -> Event:
        if self._chance.random() < 0.6:
            return CustomerAction(customer.contact, "reaction", self._true_time)
        owner = self._chance.choice((APP_ID, "263902037430900"))
        return ThreadControl(customer.contact, "pass", self._true_time, owner)

    def _fails(self, customer: Customer) -> None:
        """Its turns have failed again and again: the next one is its last."""
        key = f"ns:c:{customer.contact.conversation_id}"
        if any(member.startswith(customer.contact.conversation_id) for member in self._books.open):
            self._valkey.call("HSET", key, "failures", 9)
            self._say(f"the turns of {customer.contact.conversation_id} have failed nine times")

    def _policy(self, customer: Customer) -> Event:
        action = self._chance.choice(("block", "unblock", "unblock"))
        return PolicyEnforcement(customer.contact.channel, customer.contact.account_id, action, self._true_time)

    # From the schedule to a turn.

    def _pop(self) -> None:
        self._popping = self._spawn(self._dispatching, self._hand_out(self._dispatching))

    async def _hand_out(self, process: Process) -> None:
        try:
            for cid in await self._dispatcher.pop():
                if not self._calm and self._chance.random() < self._weather.lost_pokes:
                    continue
                ready = [worker for worker in self._workers if worker.house is not None]
                if ready:
                    self._take_turn(self._chance.choice(ready), cid)
        except StoreUnavailable as exc:
            self._say(f"{process.name}: {exc}")
        finally:
            if process is self._dispatching:
                self._popping = None

    def _take_turn(self, worker: Worker, cid: str) -> None:
        name = f"turn-{next(self._numbers)}"

        async def run() -> None:
            assert worker.house is not None
            try:
                word = await turn(worker.house, cid)
                self._say(f"{worker.process.name} {name} ends: {word}")
                if word.startswith("failed") and word not in FORESEEN:
                    raise PromiseBroken(f"{name} ends in an error of ours: {word}")
            except StoreUnavailable as exc:
                self._say(f"{worker.process.name} {name} has not begun: {exc}")
            except PromiseBroken as broken:
                self._break(broken)
            finally:
                worker.turns.pop(name, None)

        worker.turns[name] = self._spawn(worker.process, run(), of_turn=name)

    def _break(self, broken: PromiseBroken) -> None:
        if not self._done.done():
            self._done.set_exception(broken)

    def _tear_down(self) -> None:
        """Nothing of it may outlive it."""
        self._ended = True
        for process in self._processes():
            process.kill()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        asyncio.set_event_loop(None)
        self._loop.close()


def _note_owner(
    loop: asyncio.AbstractEventLoop, coroutine: Any, context: Context | None = None
) -> "asyncio.Task[Any]":
    """Which process a task belongs to is that of whoever began it."""
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, context=context)
    process = context.get(acting) if context is not None else acting.get()
    if process is not None:
        process.tasks[task] = None
        task.add_done_callback(lambda done: process.tasks.pop(done, None))
    return task


def _short(call: StoreCall, books: Books | None = None) -> str:
    return ", ".join(_named(words, books) for words in call.calls)


def _named(words: Sequence[Any], books: Books | None) -> str:
    plain = [word.decode() if isinstance(word, bytes) else str(word) for word in words[:6]]
    if plain[0] == "EVALSHA":
        name = books.name_of(words) if books else "a script"
        return f"{name} {' '.join(plain[3:5])[:60]}"
    return " ".join(plain[:3])
