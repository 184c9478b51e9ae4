"""A request is made to fit what a model takes, and stays as it is otherwise."""

from dataclasses import replace
from typing import Any

import pytest

from clients.llm.quirks import LEAST_ANSWER_TOKENS, PASSING_MS, ModelQuirks
from clients.llm.requests import ModelRequest
from clients.llm.token_limits import TokenLimits

TOOL = {"type": "function", "function": {"name": "search"}}
REQUEST = ModelRequest(
    "m", [{"role": "user", "content": "Привет"}], tools=[TOOL], tool_choice="auto", temperature=0.3, thinking="off"
)
PASSED = [ModelQuirks(), ModelQuirks(most_tokens=8000), ModelQuirks(affordable=500, affordable_until_ms=1)]


@pytest.mark.parametrize("quirks", PASSED)
def test_what_a_model_takes_goes_out_as_it_is(quirks: ModelQuirks) -> None:
    assert quirks.fit(REQUEST, now_ms=1) == REQUEST


@pytest.mark.parametrize(
    ("quirks", "changes"),
    [
        (ModelQuirks(no_tools_until_ms=2), {"tools": (), "tool_choice": None}),
        (ModelQuirks(takes_tool_choice=False), {"tool_choice": None}),
        (ModelQuirks(takes_temperature=False), {"temperature": None}),
        (ModelQuirks(must_think=True), {"thinking": "default"}),
        (ModelQuirks(most_tokens=900), {"max_tokens": 900}),
        (ModelQuirks(affordable=500, affordable_until_ms=2), {"max_tokens": 500}),
    ],
)
def test_what_a_model_does_not_take_is_left_out(quirks: ModelQuirks, changes: dict[str, Any]) -> None:
    fitting = quirks.fit(REQUEST, now_ms=1)

    assert fitting == replace(REQUEST, **changes)
    assert quirks.fit(fitting, now_ms=1) == fitting


@pytest.mark.parametrize(("name", "further"), [("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "")])
def test_the_limit_goes_under_the_next_name_and_at_last_under_none(name: str, further: str) -> None:
    after = ModelQuirks(limit_name=name).after_limit_name(name)

    assert after is not None
    assert {key for key in after.body(REQUEST) if key.startswith("max_")} == ({further} if further else set())


def test_a_name_that_was_learned_meanwhile_stays() -> None:
    learned = ModelQuirks(limit_name="")

    assert learned.after_limit_name("max_tokens") == learned


def test_a_model_that_does_not_stream_is_asked_for_one_piece() -> None:
    body = ModelQuirks(streams=False).body(REQUEST)

    assert (body["stream"], "stream_options" in body) == (False, False)


def test_thoughts_stay_at_home_where_they_are_refused() -> None:
    thoughtful = replace(REQUEST, messages=[{"role": "assistant", "content": "Да", "reasoning": "мысли"}])

    assert ModelQuirks(takes_thoughts=False).body(thoughtful)["messages"] == [{"role": "assistant", "content": "Да"}]
    assert ModelQuirks().body(thoughtful)["messages"] == thoughtful.messages


def test_where_sides_must_alternate_texts_of_one_side_are_one_and_the_user_begins() -> None:
    messages = [
        {"role": "system", "content": "S"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "B"},
        {"role": "user", "content": "C"},
    ]

    sent = ModelQuirks(alternates=True).body(replace(REQUEST, messages=messages))["messages"]

    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[-1]["content"] == "B\n\nC"


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        (TokenLimits(most=4000), 4000),
        (TokenLimits(affordable=1200), 1200),
        (TokenLimits(excess=3000), 5000),
        (TokenLimits(window=4096, prompt=1000), 3096),
    ],
)
def test_a_limit_that_is_told_holds_for_the_same_request(told: TokenLimits, limit: int) -> None:
    learned = ModelQuirks().with_token_limits(told, REQUEST, now_ms=0)

    assert learned is not None
    assert learned.fit(REQUEST, now_ms=0).max_tokens == limit


@pytest.mark.parametrize(
    "told",
    [
        TokenLimits(most=LEAST_ANSWER_TOKENS - 1),
        TokenLimits(affordable=0),
        TokenLimits(window=4096, prompt=4000),
        TokenLimits(most=8000),
    ],
)
def test_where_no_shorter_answer_would_help_nothing_is_learned(told: TokenLimits) -> None:
    assert ModelQuirks().with_token_limits(told, REQUEST, now_ms=0) is None


def test_a_balance_may_be_filled_up_again() -> None:
    learned = ModelQuirks().with_token_limits(TokenLimits(affordable=1200), REQUEST, now_ms=0)

    assert learned is not None
    assert learned.fit(REQUEST, now_ms=PASSING_MS) == REQUEST
