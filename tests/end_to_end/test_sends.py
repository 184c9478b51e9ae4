"""Sends that end otherwise: in doubt, refused, too late, to a customer who is gone."""

import time

import pytest

from bot.incoming.events import Channel
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, since


@pytest.mark.parametrize("channel", list(Channel))
def test_an_unknown_send_is_proved_and_not_repeated(stack: Stack, channel: Channel) -> None:
    before = stack.ledger()
    person = Customer(stack, new_customer(), channel=channel.value)
    stack.meta.echo = "none"
    stack.meta.lose_answer_next()

    try:
        person.writes("Привет!")
        assert since(stack, before) == {"received": 1, "answered": 1}
    finally:
        stack.meta.echo = "after"

    assert len(person.read) == 1


def test_an_echo_proves_an_unknown_send(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.lose_answer_next()

    customer.writes("Привет!")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1


def test_a_transient_refusal_is_tried_again(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.refuse_next(2, 1545133, 500)

    customer.writes("Привет!")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1


def test_a_closed_window_expires_the_message_and_tells_the_managers(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    two_days_ago = int((time.time() - 2 * 86400) * 1000)

    customer.sends(customer.item("Давно писала", at_ms=two_days_ago))

    assert since(stack, before) == {"received": 1, "expired": 1}
    assert not customer.read
    assert not stack.model.requests
    stack.telegram.wait_for_messages(1)


def test_a_customer_who_is_gone_is_undeliverable(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.refuse_next(551, 1545041, 400)

    customer.writes("Привет!")

    assert since(stack, before) == {"received": 1, "undeliverable": 1}
    stack.telegram.wait_for_messages(1)


def test_words_that_meta_refuses_are_replaced_by_a_handover(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.refuse_next(100, 2534015, 400)

    customer.writes("Привет!")

    assert since(stack, before) == {"received": 1, "handed_over": 1}
    assert ["коллега" in text for text in customer.read] == [True]
    [alert] = stack.telegram.wait_for_messages(1)
    assert "коллега" in alert["text"]


def test_a_send_that_nobody_can_clear_up_ends_with_a_human(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.meta.echo = "none"
    stack.meta.drop_before_next()
    stack.meta.refuse_next(2, 1545133, 500, times=20, on="reads")

    try:
        customer.writes("Привет!")
        assert since(stack, before) == {"received": 1, "handed_over": 1}
    finally:
        stack.meta.echo = "after"

    assert ["коллега" in text for text in customer.read] == [True]
    stack.telegram.wait_for_messages(1)
