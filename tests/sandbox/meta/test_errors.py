"""Every refusal of Meta's table against the real worker: what becomes of the message, of the account, who is told."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from bot.incoming.events import Channel, conversation_id
from runtime.settings import Account
from sandbox.meta.faults import Fault
from sandbox.meta.table import ROWS, Meaning, Row
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, since

# Parking is per account, so each row has one of its own.
TESTED = [row for row in ROWS if row.on == "messages"]
ACCOUNTS = {
    row.name: Account(
        channel=Channel.MESSENGER,
        id=f"1044000000{place:05d}",
        token_env="ROWS_TOKEN",
        token="sandbox-rows-token",
    )
    for place, row in enumerate(TESTED, 77000)
}
PARKED_AS = {
    "token": {"session_invalid", "token_invalid", "app_removed", "checkpoint", "password_changed", "token_expired"}
    | {"user_unconfirmed", "token_malformed", "session_mismatch"},
    "restricted": {"page_restricted", "business_blocked", "policy_blocked", "abusive_tag_use", "commerce_disabled"}
    | {"account_not_eligible"},
}
ENDS = {
    Meaning.RETRY: "answered",
    Meaning.UNKNOWN: "answered",
    Meaning.RECIPIENT: "undeliverable",
    Meaning.CONTENT: "handed_over",
    Meaning.WINDOW: "expired",
    Meaning.OTHER_APP: "silenced other_app",
}
ALERTS = {
    Meaning.RECIPIENT: "recipient_gone",
    Meaning.CONTENT: "handover",
    Meaning.WINDOW: "window_closed",
    Meaning.OTHER_APP: "owned_by_another",
}


@dataclass(frozen=True)
class Books:
    """What the ledger's stream says by conversation: events with their reasons, and the alerts raised of each."""

    events: Mapping[str, list[str]]
    alerts: frozenset[str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(
        tmp_path_factory.mktemp("errors"), quiet=0.2, max_wait=1, more_accounts=list(ACCOUNTS.values())
    ) as stack:
        yield stack


def test_every_row_ends_as_its_meaning_demands(house: Stack) -> None:
    before = house.ledger()
    people: dict[str, Customer] = {}
    for row in TESTED:
        people[row.name] = person = Customer(house, new_customer())
        person.account = ACCOUNTS[row.name]
        house.meta.fault_for(person.id, Fault("refuse", row.delivered, row.code, row.subcode))

    assert asyncio.run(house.meta.deliver_batch(*[person.item("Есть синяя?") for person in people.values()])) == 200

    waiting = [row for row in TESTED if row.meaning in {Meaning.THROTTLED, Meaning.OPERATOR}]
    with redis.Redis.from_url(house.valkey.url, decode_responses=True) as store:
        parked = {row.name: await_parking(house, store, people[row.name]) for row in waiting}
        assert parked == {row.name: reason_of(row) for row in waiting}
        assert not any(people[row.name].read for row in waiting)
        for row in waiting:
            set_free(store, people[row.name])
        gained = since(house, before)
        books = read_books(store)

    answered = {Meaning.RETRY, Meaning.UNKNOWN, Meaning.THROTTLED, Meaning.OPERATOR}
    assert gained == {
        "received": len(TESTED),
        "answered": sum(row.meaning in answered for row in TESTED),
        "handed_over": count(Meaning.CONTENT),
        "undeliverable": count(Meaning.RECIPIENT),
        "expired": count(Meaning.WINDOW),
        "silenced": count(Meaning.OTHER_APP),
    }
    for row in TESTED:
        person = people[row.name]
        name = conversation_id(Channel.MESSENGER, person.account.id, person.id)
        end = ENDS.get(row.meaning, "answered")
        assert any(event.startswith(end) for event in books.events[name]), row.name
        assert len(person.read) == (1 if row.meaning in answered | {Meaning.CONTENT} else 0), row.name
        if row.meaning in ALERTS:
            assert any(alert.startswith(f"{name}:") and ALERTS[row.meaning] in alert for alert in books.alerts), (
                row.name
            )
        elif row in waiting:
            assert f"account:messenger:{person.account.id}:{reason_of(row)}" in books.alerts, row.name
    assert house.meta.faults_left() == 0
    assert house.meta.throttled == []


def count(meaning: Meaning) -> int:
    return sum(row.meaning is meaning for row in TESTED)


def reason_of(row: Row) -> str:
    if row.meaning is Meaning.THROTTLED:
        return "throttled"
    return next((reason for reason, names in PARKED_AS.items() if row.name in names), "permission")


def await_parking(stack: Stack, store: Any, person: Customer) -> str:
    """Why the account rests, once the message waits for that."""
    name = conversation_id(person.account.channel, person.account.id, person.id)
    stack.wait_for(lambda: store.hget(f"ns:c:{name}", "hold_reason") == "parked", "the message to be parked")
    return str(store.get(f"ns:parked:messenger:{person.account.id}")).split(" ")[0]  # marks of tokens follow


def set_free(store: Any, person: Customer) -> None:
    """As if the time of the rest were over."""
    name = conversation_id(person.account.channel, person.account.id, person.id)
    store.delete(f"ns:parked:messenger:{person.account.id}")
    store.zadd("ns:due", {name: time.time() * 1000})
    store.rpush("ns:wake", "1")


def read_books(store: Any) -> Books:
    events: dict[str, list[str]] = {}
    alerts: set[str] = set()
    for _, entry in store.xrange("ns:ledger"):
        if entry["e"] == "alert":
            alerts.add(entry["w"])
        events.setdefault(entry["c"], []).append(f"{entry['e']} {entry['w']}".strip())
    return Books(events, frozenset(alerts))
