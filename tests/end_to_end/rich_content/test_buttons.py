"""Answers to tap go out with the last part of a reply, and never as text."""

from sandbox.model.faults import TAGS
from sandbox.stack import Stack
from tests.end_to_end.people import Customer, since

REPLY = f"Отложить для вас?\n[BUTTONS: Да, отложите | Нет | Покажите другие]\n{TAGS}"
BUTTONS = ["Да, отложите", "Нет", "Покажите другие"]


def test_the_last_part_carries_them(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    long = " ".join(f"Кружка номер {n} стоит {900 + n} рублей." for n in range(20))
    stack.model.play_for_good(f"{long}\n\n{REPLY}")

    customer.writes("Какие кружки есть?")
    assert since(stack, before) == {"received": 1, "answered": 1}

    *others, last = stack.meta.sent
    assert others
    assert last["text"].endswith("Отложить для вас?")
    assert last["buttons"] == BUTTONS
    assert not any("buttons" in message or "BUTTONS" in message["text"] for message in others)


def test_a_tap_is_a_message_like_any_other(stack: Stack, customer: Customer) -> None:
    stack.model.play_for_good(REPLY)
    customer.writes("Кружка есть?")
    customer.waits_for(1)

    customer.sends(customer.item("Нет", extra={"quick_reply": {"payload": "Нет"}}))

    customer.waits_for(2)
    assert "Нет" in stack.model.requests[-1]["messages"][-1]["content"]


def test_words_go_without_them_where_meta_refuses(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.model.play_for_good(REPLY)
    stack.meta.refuse_next(100, 2018294)

    customer.writes("Кружка есть?")

    assert customer.waits_for(1) == ["Отложить для вас?"]
    assert "buttons" not in stack.meta.sent[-1]
    assert since(stack, before) == {"received": 1, "answered": 1}
