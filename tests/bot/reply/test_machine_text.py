"""Text that is meant for programs, and words that only look like it."""

import pytest

from bot.reply.machine_text import (
    has_placeholder,
    has_tool_syntax,
    is_json_wrapper,
    is_machine_text,
    is_sentinel,
    names_its_maker,
)

ANSWER = "Да, красная кружка есть, 1900 рублей."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<tool_call>{"name": "search_knowledge", "arguments": {}}</tool_call>', True),
        ('search_knowledge({"query": "кружка"})', True),
        (ANSWER, False),
    ],
)
def test_a_call_that_came_as_text_is_found(text: str, found: bool) -> None:
    assert has_tool_syntax(text, ("search_knowledge",)) is found


@pytest.mark.parametrize(("text", "found"), [('{"reply": "Да"}', True), (ANSWER, False), ("{шутка}", False)])
def test_an_answer_wrapped_as_json_is_found(text: str, found: bool) -> None:
    assert is_json_wrapper(text) is found


@pytest.mark.parametrize(
    ("text", "customer", "found"),
    [("(empty)", "", True), ("NO_REPLY", "", True), (ANSWER, "", False), ("ok", "ok?", False)],
)
def test_a_word_that_stands_for_no_answer_is_found(text: str, customer: str, found: bool) -> None:
    assert is_sentinel(text, customer) is found


@pytest.mark.parametrize(
    ("text", "found"), [("Internal Server Error", True), ("Traceback (most recent call last):", True), (ANSWER, False)]
)
def test_words_of_a_server_are_found(text: str, found: bool) -> None:
    assert is_machine_text(text) is found


@pytest.mark.parametrize(
    ("text", "found"), [("Цена: [ЦЕНА]", True), ("Здравствуйте, {{name}}!", True), (ANSWER, False)]
)
def test_a_blank_that_was_not_filled_is_found(text: str, found: bool) -> None:
    assert has_placeholder(text) is found


@pytest.mark.parametrize(("text", "found"), [("I was made by OpenAI.", True), (ANSWER, False)])
def test_a_model_that_names_its_maker_is_found(text: str, found: bool) -> None:
    assert names_its_maker(text) is found
