"""All flavours of Meta's API in one installation, and accounts whose second id is learned while events come."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
import redis

from bot.incoming.events import Channel
from runtime.clock import now_ms
from runtime.settings import Account
from sandbox.meta.callers import as_meta_knows
from sandbox.meta.faults import Fault
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, since

LOGIN = Account(
    channel=Channel.INSTAGRAM,
    login="instagram",
    id="17841400000000077",
    token_env="LOGIN_TOKEN",
    token="sandbox-login-token",
)
# Configured by the id of /me that webhooks do not carry: one with the other beside it, one without.
BOTH_IDS = LOGIN.model_copy(
    update={
        "id": "26000000000000088",
        "user_id": "17841400000000088",
        "token_env": "BOTH_IDS_TOKEN",
        "token": Account(channel=Channel.INSTAGRAM, id="1", token="sandbox-both-ids-token").token,
    }
)
ONE_ID = LOGIN.model_copy(
    update={
        "id": "26000000000000099",
        "token_env": "ONE_ID_TOKEN",
        "token": Account(channel=Channel.INSTAGRAM, id="1", token="sandbox-one-id-token").token,
    }
)
ONE_ID_AT_META = as_meta_knows(ONE_ID.model_copy(update={"user_id": "17841400000000099"}))


@dataclass
class House:
    stack: Stack
    early: Customer  # wrote before it was known whose account it is


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Meta does not say who ONE_ID is before the third time it is asked, which is 20 s after the start."""
    stack = Stack(tmp_path_factory.mktemp("flavours"), quiet=0.3, max_wait=1, more_accounts=[LOGIN, BOTH_IDS, ONE_ID])
    meta = stack.meta
    meta.accounts[-1] = ONE_ID_AT_META
    meta.fault_for(ONE_ID_AT_META.id, Fault("refuse", code=2), Fault("garbage"), on="me")
    with stack:
        early = on(stack, ONE_ID_AT_META)
        early.writes("Есть кто?")
        yield House(stack, early)


def on(stack: Stack, account: Account, customer_id: str = "") -> Customer:
    customer = Customer(stack, customer_id or new_customer())
    customer.account = account
    return customer


def reached(stack: Stack, person: Customer) -> list[str]:
    """What the person got from the account they wrote to; one id may stand for several people, one an account."""
    return [m["text"] for m in stack.meta.sent if (m["to"], m["account"]) == (person.id, person.account.id)]


def test_an_event_before_its_account_was_known_is_answered_once(house: House) -> None:
    stack, early = house.stack, house.early

    stack.wait_for(lambda: reached(stack, early), "the early message to be answered")

    assert any(ONE_ID_AT_META.id in message["text"] for message in stack.telegram.messages)
    early.writes("Спасибо")
    stack.wait_for(lambda: len(reached(stack, early)) >= 2, "the next one to be answered")
    assert len(reached(stack, early)) == 2
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as store:
        assert store.llen("ns:early") == 0
        assert set(store.hkeys("ns:account_ids")) == {LOGIN.id, ONE_ID.id}


def test_nothing_crosses_between_flavours_and_accounts(house: House) -> None:
    stack = house.stack
    stack.wait_for(lambda: reached(stack, house.early), "the last account to be known")
    before = stack.ledger()
    stack.meta.calls.clear()
    same_id = new_customer()
    people = [on(stack, account, same_id) for account in stack.meta.accounts]

    asyncio.run(stack.meta.deliver(*[person.item("Есть синяя?") for person in people]))

    assert since(stack, before) == {"received": 5, "answered": 5}
    assert [len(reached(stack, person)) for person in people] == [1] * 5
    page = people[0].account.page_id
    assert {call["account"]: sends(stack, call["account"]) for call in stack.meta.calls} == {
        people[0].account.id: [f"/graph.facebook.com/v26.0/{page}/messages"],
        people[1].account.id: [f"/graph.facebook.com/v26.0/{people[1].account.id}/messages"],
        LOGIN.id: [f"/graph.instagram.com/v26.0/{LOGIN.id}/messages"],
        BOTH_IDS.user_id: [f"/graph.instagram.com/v26.0/{BOTH_IDS.user_id}/messages"],
        ONE_ID_AT_META.id: [f"/graph.instagram.com/v26.0/{ONE_ID_AT_META.id}/messages"],
    }
    for call in stack.meta.calls:
        if "message" in call["body"]:
            is_login = "instagram.com" in call["path"]
            assert ("messaging_type" in call["body"]) is not is_login
            assert ("metadata" in call["body"]["message"]) is (call["account"] == people[1].account.id)


def test_a_manager_is_told_from_us_under_either_id(house: House) -> None:
    stack = house.stack
    stack.wait_for(lambda: reached(stack, house.early), "the last account to be known")
    before = stack.ledger()
    for account, other_id in ((ONE_ID_AT_META, ONE_ID.id), (as_meta_knows(BOTH_IDS), BOTH_IDS.id)):
        person = on(stack, account)
        as_other = account.model_copy(update={"id": other_id})
        # Earlier than an ad's greeting would be, which comes right before a customer's first words.
        echo = stack.meta.human(person.id, "Отвечу сама", account=as_other, at_ms=now_ms() - 60_000)

        asyncio.run(stack.meta.deliver(echo))
        person.writes("Хорошо")
        asyncio.run(stack.meta.deliver(stack.meta.human(person.id, "Вот", account=account)))

        assert reached(stack, person) == []
    assert since(stack, before) == {"received": 2, "silenced": 2}


def sends(stack: Stack, account_id: str) -> Sequence[str]:
    """Paths of the messages, the signs of life left out."""
    return [c["path"] for c in stack.meta.calls if c["account"] == account_id and "message" in c["body"]]
