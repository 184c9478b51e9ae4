"""What dies may cost time, never a message and never a second answer."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import redis

from sandbox.meta import webhooks as meta_webhooks
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import TAGS
from sandbox.patience import PATIENCE_SECONDS
from sandbox.stack import APP_SECRET, Stack, new_customer
from tests.end_to_end.people import Customer, all_closed


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("crash"), quiet=0.3, max_wait=1, budget=12) as stack:
        yield stack


def crowd(stack: Stack, size: int) -> list[Customer]:
    people = [Customer(stack, new_customer()) for _ in range(size)]
    statuses = asyncio.run(stack.meta.deliver(*(person.item(f"Вопрос номер {i}") for i, person in enumerate(people))))
    assert set(statuses) == {200}
    return people


def assert_everybody_read_one_reply(people: list[Customer]) -> None:
    assert {person.id: len(person.read) for person in people} == {person.id: 1 for person in people}


def test_a_worker_killed_in_the_middle_of_twenty_turns_loses_nobody(stack: Stack) -> None:
    stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=2))
    people = crowd(stack, 20)
    stack.wait_for(lambda: len(stack.model.requests) >= 20, "twenty turns to run")

    stack.kill("worker")
    stack.spawn("worker")

    assert all_closed(stack)["answered"] == 20
    assert_everybody_read_one_reply(people)


def test_turns_of_a_killed_worker_are_taken_up_by_another(stack: Stack) -> None:
    stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=1))
    stack.spawn("worker", alias="second")
    people = crowd(stack, 20)
    stack.wait_for(lambda: len(stack.model.requests) >= 20, "twenty turns to run")

    stack.kill("worker")
    asked = len(stack.model.requests)

    stack.wait_for(lambda: all(person.read for person in people), "the other worker to take over")

    assert asked >= 20
    all_closed(stack)
    assert_everybody_read_one_reply(people)


def test_a_worker_that_is_told_to_stop_finishes_its_turns(stack: Stack) -> None:
    stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=2))
    people = crowd(stack, 10)
    stack.wait_for(lambda: len(stack.model.requests) >= 10, "ten turns to run")

    code = stack.kill("worker", how=signal.SIGTERM)

    assert code == 0
    assert_everybody_read_one_reply(people)
    assert len(stack.model.requests) == 10
    assert all_closed(stack)["answered"] == 10


def test_a_worker_whose_turns_are_too_long_gives_them_back(stack: Stack) -> None:
    stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=3))
    people = crowd(stack, 3)
    stack.wait_for(lambda: len(stack.model.requests) >= 3, "the turns to run")

    stack.kill("worker", how=signal.SIGTERM)
    stack.spawn("worker")

    assert all_closed(stack)["answered"] == 3
    assert_everybody_read_one_reply(people)


def test_a_rolling_restart_under_load_loses_nothing(stack: Stack) -> None:
    stack.model.play_for_good(Answer(content=f"Ответ\n{TAGS}", delay_seconds=0.5))
    people: list[Customer] = []
    deploying = True

    def write() -> None:
        """Customers go on writing; a POST without a 200 is sent again, as Meta does."""
        while deploying:
            person = Customer(stack, new_customer())
            item = person.item("Привет")
            people.append(person)
            while asyncio.run(stack.meta.deliver(item)) != [200]:
                time.sleep(0.05)
            time.sleep(0.05)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for name in ("web", "dispatcher", "worker"):
            stack.wait_for(lambda: people, "customers to write")
            assert stack.kill(name, how=signal.SIGTERM) == 0
            stack.spawn(name)
            stack.wait_until_ready()
    finally:
        deploying = False
        writing.join(PATIENCE_SECONDS)

    assert all_closed(stack)["answered"] == len(people)
    assert_everybody_read_one_reply(people)


def test_a_dead_dispatcher_only_delays(stack: Stack) -> None:
    stack.kill("dispatcher")
    people = crowd(stack, 5)
    assert not stack.meta.sent

    stack.spawn("dispatcher")

    assert all_closed(stack)["answered"] == 5
    assert_everybody_read_one_reply(people)


def post(stack: Stack, person: Customer) -> int:
    body = meta_webhooks.webhook_bodies([person.item("Привет")], at_ms=int(time.time() * 1000))[0]
    headers = {"X-Hub-Signature-256": meta_webhooks.sign(body, APP_SECRET)}
    answer = httpx.post(
        f"{stack.url}/webhooks/meta", content=body, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False
    )
    return answer.status_code


def test_a_dead_redis_is_a_503_and_everything_goes_on_when_it_is_back(stack: Stack) -> None:
    people = crowd(stack, 5)
    stack.wait_for(lambda: stack.model.requests, "a turn to run")
    stack.valkey.kill()

    refused = Customer(stack, new_customer())
    status = post(stack, refused)

    assert status == 503
    assert httpx.get(f"{stack.url}/health/live", trust_env=False).status_code == 200
    assert httpx.get(f"{stack.url}/health/ready", trust_env=False).status_code == 503

    stack.valkey.restart()
    stack.wait_for(lambda: post(stack, refused) == 200, "the receiver to store again")

    all_closed(stack)
    assert all(len(person.read) == 1 for person in people)
    assert refused.read


def test_a_frozen_redis_is_a_503(stack: Stack) -> None:
    os.kill(stack.valkey.pid, signal.SIGSTOP)
    try:
        status = post(stack, Customer(stack, new_customer()))
    finally:
        os.kill(stack.valkey.pid, signal.SIGCONT)

    assert status == 503
    all_closed(stack)


@pytest.fixture
def redis_client(stack: Stack) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(stack.valkey.url)
    yield client
    client.close()


def test_a_read_only_redis_is_a_503(stack: Stack, redis_client: redis.Redis) -> None:
    person = Customer(stack, new_customer())
    redis_client.replicaof("127.0.0.1", "1")  # a replica whose primary is away serves reads only

    status = post(stack, person)
    redis_client.replicaof("NO", "ONE")

    assert status == 503
    assert post(stack, person) == 200
    assert all_closed(stack)["answered"] == 1


def test_a_full_redis_is_a_503_and_no_poke_is_lost_for_good(stack: Stack, redis_client: redis.Redis) -> None:
    stack.kill("worker")
    people = crowd(stack, 5)
    stack.wait_for(lambda: redis_client.llen("ns:celery:turns") == 5, "the pokes to wait")
    redis_client.config_set("maxmemory", "1mb")
    stack.spawn("worker")
    stack.wait_for(lambda: "worker_starts_anew" in stack.log_tail("worker"), "Celery to give up on a full server")

    status = post(stack, Customer(stack, new_customer()))
    redis_client.config_set("maxmemory", "0")

    assert status == 503
    assert all_closed(stack)["answered"] == 5
    assert_everybody_read_one_reply(people)


def test_a_flushed_broker_costs_a_few_seconds(stack: Stack, redis_client: redis.Redis) -> None:
    stack.kill("worker")
    people = crowd(stack, 5)
    stack.wait_for(lambda: redis_client.llen("ns:celery:turns"), "the pokes to wait")
    for key in redis_client.scan_iter("ns:celery:*"):
        redis_client.delete(key)

    stack.spawn("worker")

    assert all_closed(stack)["answered"] == 5
    assert_everybody_read_one_reply(people)
