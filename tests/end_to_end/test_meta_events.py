"""All kinds of events of Meta's through the whole system: who is answered, who is not, and who hears of it."""

import asyncio
import re
import time

import httpx
import redis

from bot.incoming.events import conversation_id
from sandbox.meta.webhooks import WebhookItem, encode, sign
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import TAGS
from sandbox.patience import PATIENCE_SECONDS
from sandbox.stack import APP_SECRET, Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since
from tests.payloads import CUSTOMERS, raw
from tests.payloads.ends import ENDS, PARKS_THE_ACCOUNT
from tests.payloads.kinds import Answered, Silenced

HOUR = 3600.0


def post(stack: Stack, payload: object) -> httpx.Response:
    return post_raw(stack, encode(payload))


def post_raw(stack: Stack, body: bytes) -> httpx.Response:
    headers = {"X-Hub-Signature-256": sign(body, APP_SECRET), "Content-Type": "application/json"}
    return httpx.post(
        f"{stack.url}/webhooks/meta", content=body, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False
    )


def as_of_now(body: bytes, customer_id: str, now_ms: int) -> bytes:
    """A payload as if it were sent now, by a customer of its own; as bytes, since some are odd as such."""
    for invented in CUSTOMERS:
        body = body.replace(invented.encode(), customer_id.encode())
    body = re.sub(rb"2026-09-2\dT[\d:]+(?=\+)", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()).encode(), body)
    body = re.sub(rb"\b1790\d{9}\b", str(now_ms).encode(), body)
    return re.sub(rb"\b1790\d{6}\b", str(now_ms // 1000).encode(), body)


def test_every_payload_ends_as_it_should(stack: Stack) -> None:
    before = stack.ledger()
    names = sorted(ENDS.keys() - PARKS_THE_ACCOUNT)  # a block of the account has a test of its own
    customers = {name: new_customer() for name in names}
    logs = {process: stack.directory / f"{process}.log" for process in stack.running}
    logged_before = {process: log.stat().st_size for process, log in logs.items()}

    for name in names:
        answer = post_raw(stack, as_of_now(raw(name), customers[name], int(time.time() * 1000)))
        assert answer.status_code == 200, name

    with redis.Redis.from_url(stack.valkey.url) as store:
        # Meta keeps none of these messages: what is to be read would be asked for again and again.
        assert store.delete("ns:unread", "ns:unread:due") == 2
    answered = [name for name in names for end in ENDS[name] if isinstance(end, Answered)]
    silenced = [name for name in names for end in ENDS[name] if isinstance(end, Silenced)]
    assert since(stack, before) == {
        "received": len(answered) + len(silenced),
        "answered": len(answered),
        "silenced": len(silenced),
    }
    reached = [message["to"].removeprefix("user_ref:") for message in stack.meta.sent]
    assert sorted(reached) == sorted(customers[name] for name in answered)
    assert all(message["text"].strip() for message in stack.meta.sent)
    for request in stack.model.requests:
        assert all(m["content"].strip() for m in request["messages"] if m["role"] == "user")
    for process, log in logs.items():
        logged = log.read_bytes()[logged_before[process] :]
        assert b"Traceback" not in logged, process
        assert b'"level": "error"' not in logged, process


def test_a_batch_of_a_thousand_is_taken_and_answered_in_full(stack: Stack) -> None:
    before = stack.ledger()
    people = [Customer(stack, new_customer()) for _ in range(300)]
    items = stack.meta.crowd([person.id for person in people], 1000)

    status = asyncio.run(stack.meta.deliver_batch(*items))

    assert status == 200
    assert since(stack, before) == {"received": 1000, "answered": 1000}
    assert [len(person.read) for person in people] == [1] * 300


def test_seen_and_typing_show_before_the_reply(stack: Stack, customer: Customer) -> None:
    stack.model.script([Answer(content=f"Да\n{TAGS}", delay_seconds=1)])

    customer.writes("Есть кто?")
    customer.waits_for(1)

    assert [a["action"] for a in stack.meta.actions if a["to"] == customer.id] == ["mark_seen", "typing_on"]


def test_a_reply_that_never_left_is_not_sent_over_a_humans_words(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.drop_before_next()

    customer.writes("Привет")
    stack.wait_for(lambda: held_as(stack, customer) == "settling", "the send to be in doubt")
    customer.sends(stack.meta.human(customer.id, "Здравствуйте, это Мария", account=customer.account))
    stack.wait_for(lambda: held_as(stack, customer) == "human", "the draft to be dropped")
    customer.sends(stack.meta.human(customer.id, "Чем помочь?", account=customer.account))

    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert not customer.read


# The window.


def test_a_conversation_left_to_people_is_told_of_before_its_window_closes(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    twenty_three_hours_ago = int((time.time() - 23 * HOUR) * 1000)

    customer.sends(
        customer.item("Вы тут?", at_ms=twenty_three_hours_ago),
        stack.meta.human(customer.id, "Минуту", account=customer.account),
    )

    [alert] = stack.telegram.wait_for_messages(1)
    assert "закроется" in alert["text"]
    assert stack.ledger()["open"] == 1
    customer.sends(stack.meta.human(customer.id, "Да, слушаю", account=customer.account))
    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert len(stack.telegram.messages) == 1
    assert not customer.read


def test_a_reaction_keeps_the_window_open(stack: Stack, customer: Customer) -> None:
    before, two_days_ago = stack.ledger(), int((time.time() - 48 * HOUR) * 1000)
    reaction = {
        "sender": {"id": customer.id},
        "recipient": {"id": customer.account.id},
        "timestamp": int(time.time() * 1000),
        "reaction": {"mid": "aWdf_old", "action": "react", "reaction": "love"},
    }

    customer.sends(customer.item("Привет", at_ms=two_days_ago), WebhookItem(customer.account, reaction))
    stack.meta.customer_wrote(customer.id)

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}


# Accounts.


def test_a_blocked_account_sends_nothing_until_it_is_unblocked(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    def enforced(action: str) -> WebhookItem:
        body = {"recipient": {"id": customer.account.id}, "policy_enforcement": {"action": action, "reason": "spam"}}
        return WebhookItem(customer.account, {**body, "timestamp": int(time.time() * 1000)})

    customer.sends(enforced("block"))
    customer.writes("Привет")
    [alert] = stack.telegram.wait_for_messages(1)
    stack.wait_for(lambda: held_as(stack, customer) == "parked", "the message to wait for the account")
    assert "заблокировала" in alert["text"]
    assert not customer.read
    assert not stack.model.requests

    customer.sends(enforced("unblock"))

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}


def test_an_unknown_account_is_taken_counted_and_told_of_once(stack: Stack) -> None:
    before = stack.ledger()
    stranger = {
        "sender": {"id": new_customer()},
        "recipient": {"id": "17841499999999999"},
        "timestamp": int(time.time() * 1000),
        "message": {"mid": "aWdf_stranger", "text": "?"},
    }
    payload = {"object": "instagram", "entry": [{"id": "17841499999999999", "time": 1, "messaging": [stranger] * 3}]}

    assert [post(stack, payload).status_code for _ in range(3)] == [200, 200, 200]

    [alert] = stack.telegram.wait_for_messages(1)
    assert "17841499999999999" in alert["text"]
    assert stack.ledger()["received"] == before["received"]
    assert len(stack.telegram.messages) == 1


def test_an_account_near_its_allowance_rests(stack: Stack, customer: Customer) -> None:
    stack.meta.set_usage(95)

    customer.writes("Привет")
    customer.waits_for(1)

    store = redis.Redis.from_url(stack.valkey.url, decode_responses=True)
    with store:
        key = f"ns:parked:instagram:{customer.account.id}"
        stack.wait_for(lambda: store.get(key) == "usage", "the account to rest")
        store.delete(key)
    all_closed(stack)


def held_as(stack: Stack, customer: Customer) -> str:
    name = conversation_id(customer.account.channel, customer.account.id, customer.id)
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as store:
        return str(store.hget(f"ns:c:{name}", "hold_reason") or "")
