"""What a turn had found is not paid for twice, and the managers hear of what the models cost."""

from collections.abc import Iterator

import pytest

from sandbox.model.answers import Answer, tool_call
from sandbox.model.faults import FAULTS, TAGS
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since

SEARCH = Answer(tool_calls=[tool_call("search_knowledge", {"query": "кружка"})], finish_reason="tool_calls")


def test_a_question_mark_goes_on_from_what_a_failed_turn_had_found(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.model.script([SEARCH])
    stack.model.play_for_good(FAULTS["500"])
    customer.writes("Сколько стоит кружка «Туман»?")
    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "handed_over": 1}

    stack.model.reset()
    stack.model.play_for_good(f"Кружка «Туман» стоит 1900 рублей.\n{TAGS}")
    customer.writes("?")
    customer.waits_for(2)

    (request,) = stack.model.requests
    assert "Already looked up" in request["messages"][-1]["content"]
    assert "1900" in request["messages"][-1]["content"]

    customer.writes("А курсы есть?")
    customer.waits_for(3)
    assert "Already looked up" not in str(stack.model.requests[-1]["messages"]), "used once, then dropped"
    all_closed(stack)


@pytest.fixture(scope="module")
def frugal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    more = "[model]\nmax_cost_per_day = 0.5\n"
    with Stack(tmp_path_factory.mktemp("frugal"), quiet=0.3, max_wait=1, budget=12, more=more) as stack:
        yield stack


def test_a_day_that_costs_too_much_ends_with_people(frugal: Stack) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "cost": 0.6}
    frugal.model.play_for_good(Answer(content=f"Здравствуйте! Чем помочь?\n{TAGS}", usage=usage))
    first, second = (Customer(frugal, new_customer()) for _ in range(2))
    before = frugal.ledger()
    first.writes("Привет, вы работаете сегодня?")
    assert first.waits_for(1) == ["Здравствуйте! Чем помочь?"]

    second.writes("Привет, а вы завтра работаете?")
    second.waits_for(1)

    assert since(frugal, before) == {"received": 2, "answered": 1, "handed_over": 1}
    assert len(frugal.model.requests) == 1
    frugal.wait_for(lambda: len(frugal.telegram.messages) == 1, "one alert")
