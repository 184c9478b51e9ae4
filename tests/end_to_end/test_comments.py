"""A comment that asks for it gets one private message, and its author a conversation like any other."""

import time
from collections.abc import Iterator

import pytest
import redis

from sandbox.model.faults import TAGS
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since

REPLY = "Здравствуйте! Цены у нас от 900 рублей, подсказать подробнее?"
MORE = f'[comments]\nkeywords = ["цена", "+"]\nreply = "{REPLY}"\n'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("comments"), budget=12, more=MORE) as stack:
        yield stack


@pytest.fixture
def stack(running: Stack) -> Stack:
    running.model.reset()
    running.meta.reset()
    return running


def counted(stack: Stack, kind: str) -> int:
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as client:
        return int(str(client.hget("ns:events", kind) or 0))


def waits_until_counted(stack: Stack, kind: str, count: int) -> None:
    stack.wait_for(lambda: counted(stack, kind) >= count, f"{count} {kind}")


@pytest.mark.parametrize("channel", ["instagram", "messenger"])
def test_one_reply_however_often_the_comment_comes(stack: Stack, channel: str) -> None:
    customer = Customer(stack, new_customer(), channel=channel)
    comment = stack.meta.comment(customer.id, "А какая цена?", account=customer.account)
    sent, doubles = counted(stack, "private_reply_sent"), counted(stack, "duplicate")

    customer.sends(comment)
    customer.sends(comment)

    assert customer.waits_for(1) == [REPLY]
    waits_until_counted(stack, "private_reply_sent", sent + 1)
    customer.sends(comment)
    waits_until_counted(stack, "duplicate", doubles + 2)
    assert customer.read == [REPLY]


@pytest.mark.parametrize("channel", ["instagram", "messenger"])
def test_the_author_who_writes_is_answered_by_the_bot(stack: Stack, channel: str) -> None:
    """The echo of the private reply is ours: it is no human who takes over."""
    before = stack.ledger()
    customer = Customer(stack, new_customer(), channel=channel)
    customer.sends(stack.meta.comment(customer.id, "+", account=customer.account))
    customer.waits_for(1)
    stack.model.play_for_good(f"Кружка «Туман» стоит 1900 рублей.\n{TAGS}")

    customer.writes("Сколько стоит кружка «Туман»?")

    assert customer.waits_for(2)[1] == "Кружка «Туман» стоит 1900 рублей."
    said = [m["content"] for m in stack.model.requests[-1]["messages"]]
    assert any("[comment under our post] +" in text for text in said)
    assert REPLY in said
    assert since(stack, before) == {"received": 1, "answered": 1}


def test_other_comments_are_left_alone(stack: Stack) -> None:
    customer = Customer(stack, new_customer())
    messenger = stack.meta.account("messenger")
    noted = counted(stack, "comment_to_answer")
    customer.sends(
        stack.meta.comment(customer.id, "Какая красота!"),
        stack.meta.comment(customer.account.id, "Цена 900"),
        stack.meta.comment(messenger.id, "Цена 900", account=messenger),
        stack.meta.comment(customer.id, "цена", account=messenger, verb="edited"),
    )

    customer.sends(stack.meta.comment(customer.id, "цена"))

    assert customer.waits_for(1) == [REPLY]
    assert counted(stack, "comment_to_answer") == noted + 1
    assert len(stack.meta.sent) == 1


def test_a_refused_one_is_not_tried_again(stack: Stack) -> None:
    customer = Customer(stack, new_customer())
    refused = counted(stack, "private_reply_refused")
    comment = stack.meta.comment(customer.id, "цена")
    stack.meta.store.comments.clear()  # answered already, by somebody else

    customer.sends(comment)

    waits_until_counted(stack, "private_reply_refused", refused + 1)
    assert stack.meta.sent == []


def test_one_that_may_have_arrived_is_not_sent_again(stack: Stack) -> None:
    customer = Customer(stack, new_customer())
    unknown = counted(stack, "private_reply_unknown")
    stack.meta.lose_answer_next()

    customer.sends(stack.meta.comment(customer.id, "цена"))

    waits_until_counted(stack, "private_reply_unknown", unknown + 1)
    assert customer.read == [REPLY]


def test_one_that_did_not_happen_is_sent_later(stack: Stack) -> None:
    customer = Customer(stack, new_customer())
    stack.meta.refuse_next(2, 1545133)

    customer.sends(stack.meta.comment(customer.id, "цена"))

    assert customer.waits_for(1) == [REPLY]
    assert stack.meta.faults_left() == 0


def test_an_old_one_has_expired(stack: Stack) -> None:
    customer = Customer(stack, new_customer())
    expired = counted(stack, "private_reply_expired")
    messenger = stack.meta.account("messenger")
    old = int(time.time() * 1000) - 8 * 86_400_000

    customer.sends(stack.meta.comment(customer.id, "цена", account=messenger, at_ms=old))

    waits_until_counted(stack, "private_reply_expired", expired + 1)
    assert stack.meta.sent == []
    all_closed(stack)
