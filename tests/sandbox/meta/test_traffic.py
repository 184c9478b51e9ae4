"""Meta's traffic as it is: doubled, late and out of order, with threads and accounts that change hands."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import redis

from bot.incoming.events import conversation_id
from runtime.settings import Account
from sandbox.meta.faults import Fault
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import TAGS
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, begin_anew, one_burst, since

LOGIN = Account(
    channel="instagram",
    login="instagram",
    id="17841400000000077",
    token_env="LOGIN_TOKEN",
    token="sandbox-login-token",
)
CHANNELS = ("instagram", "messenger")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    directory: Path = tmp_path_factory.mktemp("traffic")
    with Stack(directory, quiet=0.8, max_wait=3, budget=12, more_accounts=[LOGIN]) as stack:
        yield stack


@pytest.fixture
def stack(house: Stack) -> Stack:
    with redis.Redis.from_url(house.valkey.url, decode_responses=True) as store:
        store.delete(*[f"ns:parked:{account.channel}:{account.id}" for account in house.meta.accounts])
    return begin_anew(house)


@pytest.mark.parametrize("seed", [1, 2])
def test_bursts_that_come_twice_and_out_of_order_have_one_answer_each(stack: Stack, seed: int) -> None:
    before = stack.ledger()
    people = [Customer(stack, new_customer(), channel=channel) for channel in CHANNELS for _ in range(30)]
    # A second ago: what would be in the future when it comes counts as written when it came.
    started = stack.meta.store.clock() - 1
    items = [
        person.item(f"{person.id} слово {number}", at_ms=round(started * 1000) + number)
        for number in range(3)
        for person in people
    ]

    with one_burst(stack):
        statuses = asyncio.run(stack.meta.deliver_in_disorder(*items, seed=seed, doubled=0.5, late_seconds=0.3))

    assert len(statuses) > len(items) * 1.2
    assert set(statuses) == {200}
    assert since(stack, before) == {"received": 180, "answered": 180}
    assert [len(person.read) for person in people] == [1] * 60
    asked = ["\n".join(str(message["content"]) for message in r["messages"][1:]) for r in stack.model.requests]
    for person in people:
        in_order = [f"{person.id} слово {number}" for number in range(3)]
        [text] = [text for text in asked if person.id in text]
        places = [text.index(words) for words in in_order]
        assert places == sorted(places)


def test_many_sends_in_doubt_are_settled_within_metas_two_reads_a_second(stack: Stack) -> None:
    """On Instagram Login each look takes a call for the list and one for each message in it."""
    before = stack.ledger()
    stack.meta.echo = "none"
    people = [Customer(stack, new_customer()) for _ in range(8)] + [Customer(stack, new_customer()) for _ in range(6)]
    for person in people[8:]:
        person.account = next(account for account in stack.meta.accounts if account.id == LOGIN.id)
    for person in people:
        stack.meta.fault_for(person.id, Fault("cut", delivered=True))

    asyncio.run(stack.meta.deliver(*[person.item("Есть синяя?") for person in people]))

    assert since(stack, before) == {"received": 14, "answered": 14}
    assert [len(person.read) for person in people] == [1] * 14
    assert stack.meta.served["reads"] >= 8 + 2 * 6


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_thread_taken_during_a_turn_is_answered_when_it_comes_back(stack: Stack, channel: str) -> None:
    before = stack.ledger()
    person = Customer(stack, new_customer(), channel=channel)
    stack.model.script([Answer(content=f"Черновик\n{TAGS}", delay_seconds=1.5)])

    person.writes("Есть синяя?")
    stack.wait_for(lambda: stack.model.requests, "the model to be asked")
    person.sends(stack.meta.take_thread(person.id, account=person.account))
    stack.wait_for(lambda: held_as(stack, person) == "human", "the draft to be dropped")
    person.writes("Вы тут?")
    assert person.read == []
    person.sends(stack.meta.pass_thread(person.id, account=person.account))

    [reply] = person.waits_for(1)
    assert "Черновик" not in reply
    # What came on standby was for the other app; what was open before is ours again.
    assert since(stack, before) == {"received": 2, "answered": 1, "silenced": 1}
    person.writes("Спасибо")
    assert len(person.waits_for(2)) == 2


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_send_into_a_thread_of_another_app_is_final_and_told(stack: Stack, channel: str) -> None:
    before = stack.ledger()
    person = Customer(stack, new_customer(), channel=channel)
    stack.model.script([Answer(content=f"Да\n{TAGS}", delay_seconds=1)])

    person.writes("Есть синяя?")
    stack.wait_for(lambda: stack.model.requests, "the model to be asked")
    stack.meta.take_thread(person.id, account=person.account)  # and no webhook tells us

    assert since(stack, before) == {"received": 1, "silenced": 1}
    [alert] = stack.telegram.wait_for_messages(1)
    assert "другое приложение" in alert["text"]
    assert person.read == []


@pytest.mark.parametrize(("channel", "refused_as"), [("instagram", "policy"), ("messenger", "page")])
@pytest.mark.parametrize("told_first", [True, False])
def test_a_policy_block_pauses_the_account_and_its_end_frees_it(
    stack: Stack, channel: str, refused_as: Literal["page", "policy"], told_first: bool
) -> None:
    """The block's own webhook may come before the first refusal, or never."""
    before = stack.ledger()
    person = Customer(stack, new_customer(), channel=channel)
    block = stack.meta.policy("block", account=person.account, refused_as=refused_as)

    if told_first:
        person.sends(block)
    person.writes("Есть синяя?")
    stack.wait_for(lambda: held_as(stack, person) == "parked", "the message to wait for the account")
    assert person.read == []
    assert stack.ledger()["open"] == 1
    person.sends(stack.meta.policy("unblock", account=person.account))

    assert len(person.waits_for(1)) == 1
    assert since(stack, before) == {"received": 1, "answered": 1}


def held_as(stack: Stack, person: Customer) -> str:
    name = conversation_id(person.account.channel, person.account.id, person.id)
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as store:
        return str(store.hget(f"ns:c:{name}", "hold_reason") or "")
