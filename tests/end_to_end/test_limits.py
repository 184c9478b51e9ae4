"""What one customer may cost: one handover with an alert, then silence in the books, and no model paid meanwhile."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sandbox.model.answers import Answer
from sandbox.model.faults import TAGS
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since
from tests.waiting import polls

HANDOFF = "Дальше вам поможет мой коллега"
AWAY = "Спасибо за сообщение! Мы ответим вам в рабочее время, номер обращения {}."
GOOD = Answer(content=f"Здравствуйте! Чем могу помочь?\n{TAGS}")
READING_SECONDS = 1.2  # a person reads before they write; within a second it would be a program's rhythm
LIMITS = """
[limits]
turns_per_customer_hour = 8
cost_per_customer_day = 0.5
burst_chars = 3000
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("limited"), quiet=0.05, max_wait=0.5, budget=12, more=LIMITS) as stack:
        yield stack


@pytest.fixture
def stack(limited: Stack) -> Stack:
    limited.model.reset()
    limited.meta.reset()
    limited.telegram.messages.clear()
    limited.model.play_for_good(GOOD)
    return limited


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return Customer(stack, new_customer())


def alerts(stack: Stack) -> str:
    return "\n".join(str(message) for message in stack.telegram.messages)


def test_an_auto_responder_is_left_alone_after_a_few_replies(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    replies = 0
    for number in range(1, 12):  # with another ticket each time
        customer.writes(AWAY.format(number * 37))
        if HANDOFF not in "".join(customer.read):
            replies += 1
            customer.waits_for(replies)
    outcomes = since(stack, before)

    # Four replies where its words come at once, seven where a busy machine makes them late.
    assert 4 <= replies <= 7
    assert outcomes == {"received": 11, "answered": replies - 1, "handed_over": 1, "silenced": 11 - replies}
    assert len(stack.model.requests) == replies - 1
    assert HANDOFF in customer.read[-1]
    stack.wait_for(lambda: "автоответчик" in alerts(stack), "the managers to be told")

    for _ in polls(READING_SECONDS):
        pass
    customer.writes("Здравствуйте, а теперь пишу я сама: сколько стоит кружка «Туман»?")

    assert since(stack, before)["answered"] == replies  # the person behind the program


def test_one_turn_too_many_is_handed_over_once_and_then_silenced(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    for what in (
        "кружки",
        "вазы",
        "доставка",
        "курсы лепки",
        "подарки",
        "чайники",
        "блюдца",
        "скидки",
        "адрес",
        "часы",
        "оплату",
    ):
        customer.writes(f"Расскажите про {what}")
        stack.wait_for(lambda: stack.ledger()["open"] == 0, "the message to have its outcome")
        for _ in polls(READING_SECONDS):
            pass

    assert since(stack, before) == {"received": 11, "answered": 8, "handed_over": 1, "silenced": 2}
    assert len(stack.model.requests) == 8
    assert [HANDOFF in words for words in customer.read] == [False] * 8 + [True]
    stack.wait_for(lambda: "turns_per_customer_hour" in alerts(stack), "the managers to be told")

    customer.writes("стоп")

    stack.wait_for(lambda: len(customer.read) == 10, "who wants no more messages to be heard all the same")


def test_a_customer_who_has_cost_enough_for_today_is_handed_over(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.model.reset()
    stack.model.play_for_good(replace(GOOD, usage={"prompt_tokens": 10, "completion_tokens": 10, "cost": 0.3}))

    for text in ("Привет!", "Что у вас есть для подарка?", "А ещё?", "Ау", "Вы где?"):
        customer.writes(text)
        stack.wait_for(lambda: stack.ledger()["open"] == 0, "the message to have its outcome")

    assert since(stack, before) == {"received": 5, "answered": 2, "handed_over": 1, "silenced": 2}
    assert len(stack.model.requests) == 2
    stack.wait_for(lambda: "cost_per_customer_day" in alerts(stack), "the managers to be told")


def test_a_handover_that_meta_refuses_at_first_is_said_once_and_booked_when_it_was(
    stack: Stack, customer: Customer
) -> None:
    before = stack.ledger()
    stack.model.reset()
    stack.model.play_for_good(replace(GOOD, usage={"prompt_tokens": 10, "completion_tokens": 10, "cost": 0.6}))
    customer.writes("Привет!")
    all_closed(stack)

    stack.meta.refuse_next(2, times=1)  # a passing trouble of Meta's
    customer.writes("Что у вас есть?")

    assert since(stack, before) == {"received": 2, "answered": 1, "handed_over": 1}
    assert sum(HANDOFF in words for words in customer.read) == 1
    assert len(stack.model.requests) == 1


def test_a_burst_without_measure_is_cut_for_the_model(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.sends(*(customer.item(f"{n} " + "очень длинное сообщение " * 40) for n in range(40)))
    customer.writes("Так сколько стоит кружка?")

    outcomes = since(stack, before)
    assert outcomes["received"] == outcomes["answered"] == 41
    for request in stack.model.requests:
        said = "".join(str(message["content"]) for message in request["messages"] if message["role"] != "system")
        assert len(said) < 7_000
    assert "are left out here]" in str(stack.model.requests[-1]["messages"])
    assert "Так сколько стоит кружка?" in str(stack.model.requests[-1]["messages"])
