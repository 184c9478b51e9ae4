"""A refused token is replaced: what waits for it goes out at once, also beside a process that has the old one."""

from collections.abc import Iterator

import pytest
import redis

from bot.incoming.events import conversation_id
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed

OUTDATED = {"INSTAGRAM_TOKEN": "an-outdated-invented-token"}


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(
        tmp_path_factory.mktemp("token"), quiet=0.1, max_wait=1, budget=12, processes=("web", "dispatcher")
    ) as stack:
        yield stack


@pytest.mark.parametrize("rolling", [False, True])
def test_a_new_token_sends_what_waited_for_it(house: Stack, rolling: bool) -> None:
    house.spawn("worker", alias="old", environment=OUTDATED)
    customers = [Customer(house, new_customer()) for _ in range(3)]
    for customer in customers:
        customer.writes("Привет")
    with redis.Redis.from_url(house.valkey.url, decode_responses=True) as store:
        for customer in customers:
            key = f"ns:c:{conversation_id(customer.account.channel, customer.account.id, customer.id)}"
            house.wait_for(lambda key=key: store.hget(key, "hold_reason") == "parked", "it to wait for the account", 60)  # type: ignore[misc]  # the default of a lambda
    if not rolling:
        house.kill("old")

    house.spawn("worker", alias="new")

    for customer in customers:
        customer.waits_for(1, seconds=120)
    assert all_closed(house)["answered"] == 3
    assert [len(customer.read) for customer in customers] == [1, 1, 1]
