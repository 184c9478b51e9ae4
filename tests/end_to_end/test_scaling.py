"""Two receivers, two dispatchers and three workers behave as one: nothing is lost, nothing is answered twice."""

import asyncio
import signal
from collections.abc import Iterator
from functools import partial

import httpx
import pytest
import redis

from bot.incoming.events import Channel
from sandbox.meta import webhooks as meta_webhooks
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import TAGS
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.stack import APP_SECRET, Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, one_burst

pytestmark = pytest.mark.slow

PEOPLE = 30


class House:
    """The stack with a second of everything, and a third worker; `complete` brings back who is gone."""

    def __init__(self, stack: Stack, port: int) -> None:
        self.stack = stack
        self._port = port
        self.doors = [f"{stack.url}/webhooks/meta", f"http://127.0.0.1:{self._port}/webhooks/meta"]

    def complete(self) -> None:
        for alias in ("web-2", "dispatcher-2", "worker-2", "worker-3"):
            if alias not in self.stack.running:
                self.stack.spawn(alias[:-2], alias=alias, environment={"PORT": str(self._port)})
        for alias in ("dispatcher", "dispatcher-2", "worker", "worker-2", "worker-3"):
            self.stack.wait_for(partial(self._is_heard_of, alias), f"{alias} to be heard of")
        self.stack.wait_for(self._second_door_is_open, "the second receiver to be ready")

    def _is_heard_of(self, alias: str) -> bool:
        with redis.Redis.from_url(self.stack.valkey.url, decode_responses=True) as store:
            alive = [str(name) for name in store.zrange("ns:alive", 0, -1)]
        return any(name.endswith(f":{self.stack.running[alias].pid}") for name in alive)

    def _second_door_is_open(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}/health/ready", trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def post(self, posts: list[bytes], *, door: int | None = None) -> None:
        """Every POST at one of the doors in turn, or at `door`; all are accepted."""

        async def send() -> list[int]:
            async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
                answers = await asyncio.gather(
                    *(
                        http.post(
                            self.doors[number % 2 if door is None else door],
                            content=body,
                            headers={"X-Hub-Signature-256": meta_webhooks.sign(body, APP_SECRET)},
                        )
                        for number, body in enumerate(posts)
                    )
                )
            return [answer.status_code for answer in answers]

        assert set(asyncio.run(send())) == {200}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("scaling")
    with reserved_port() as port, Stack(folder, quiet=0.3, max_wait=1.5, budget=12) as stack:
        yield House(stack, port)


@pytest.fixture
def house(running: House) -> House:
    running.complete()
    running.stack.model.reset()
    running.stack.meta.reset()
    return running


def crowd(house: House, size: int) -> list[Customer]:
    return [Customer(house.stack, new_customer(), channel=Channel.MESSENGER) for _ in range(size)]


def body_of(house: House, person: Customer, text: str) -> bytes:
    item = person.item(text)
    (body,) = meta_webhooks.webhook_bodies([item], at_ms=int(item.item["timestamp"]))
    return body


def test_messages_through_two_doors_are_each_answered_once(house: House) -> None:
    house.stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=0.5))
    before = house.stack.ledger()
    people = crowd(house, PEOPLE)

    house.post([body_of(house, person, f"Вопрос {i}") for i, person in enumerate(people)])

    after = all_closed(house.stack)
    assert after["answered"] - before["answered"] == PEOPLE
    assert {person.id: len(person.read) for person in people} == {person.id: 1 for person in people}


def test_a_burst_that_comes_through_both_doors_is_one_conversation(house: House) -> None:
    (person,) = crowd(house, 1)

    with one_burst(house.stack):
        house.post([body_of(house, person, f"Часть {i} вопроса") for i in range(6)])

    person.waits_for(1)
    after = all_closed(house.stack)
    assert after["open"] == 0
    assert len(person.read) == 1
    asked = house.stack.model.requests[-1]["messages"][-1]["content"]
    assert [f"Часть {i}" in asked for i in range(6)] == [True] * 6


def test_what_meta_sends_to_both_doors_is_stored_once(house: House) -> None:
    before = house.stack.ledger()
    people = crowd(house, 10)
    posts = [body_of(house, person, "Сколько стоит занятие?") for person in people]

    house.post(posts, door=0)
    house.post(posts, door=1)

    after = all_closed(house.stack)
    assert after["received"] - before["received"] == 10
    assert {person.id: len(person.read) for person in people} == {person.id: 1 for person in people}


def test_turns_are_shared_out_among_the_workers(house: House) -> None:
    house.stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=1))
    people = crowd(house, PEOPLE)
    logs = {alias: len(_answers(house, alias)) for alias in ("worker", "worker-2", "worker-3")}

    house.post([body_of(house, person, f"Вопрос {i}") for i, person in enumerate(people)])
    all_closed(house.stack)

    shares = {alias: len(_answers(house, alias)) - before for alias, before in logs.items()}
    assert sum(shares.values()) >= PEOPLE
    assert min(shares.values()) > 0


def test_one_of_each_may_go_in_the_middle_of_the_work(house: House) -> None:
    house.stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=1))
    before = house.stack.ledger()
    people = crowd(house, PEOPLE)
    posts = [body_of(house, person, f"Вопрос {i}") for i, person in enumerate(people)]

    house.post(posts[: PEOPLE // 2])
    house.stack.wait_for(lambda: len(house.stack.model.requests) >= 5, "turns to run")
    house.stack.kill("dispatcher-2")
    house.stack.kill("worker-3")
    house.stack.kill("web-2", how=signal.SIGTERM)
    house.post(posts[PEOPLE // 2 :], door=0)

    after = all_closed(house.stack)
    assert after["answered"] - before["answered"] == PEOPLE
    assert {person.id: len(person.read) for person in people} == {person.id: 1 for person in people}


def _answers(house: House, alias: str) -> list[str]:
    log = (house.stack.directory / f"{alias}.log").read_text(encoding="utf-8", errors="replace")
    return [line for line in log.splitlines() if "Task answer[" in line and "succeeded" in line]
