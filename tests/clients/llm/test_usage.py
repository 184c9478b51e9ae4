"""Tokens and cost under whatever names a server gives them."""

from typing import Any

import pytest

from bot.model_output import Usage
from clients.llm.usage import read_usage


def usage(raw: Any, *, reasoning_chars: int = 0, written_chars: int = 0) -> Usage:
    return read_usage(raw, reasoning_chars=reasoning_chars, written_chars=written_chars)


@pytest.mark.parametrize(
    "raw",
    [
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 30},
            "cost": 0.25,
        },
        {
            "input_tokens": 100,
            "output_tokens": 50.0,
            "input_tokens_details": {"cached_tokens": 80},
            "output_tokens_details": {"reasoning_tokens": 30},
            "cost": "0.25",
        },
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_cache_hit_tokens": 80,
            "reasoning_tokens": 30,
            "cost": 0.25,
        },
    ],
)
def test_every_dialect_says_the_same(raw: dict[str, Any]) -> None:
    assert usage(raw) == Usage(
        prompt_tokens=100, cached_tokens=80, completion_tokens=50, reasoning_tokens=30, cost=0.25
    )


@pytest.mark.parametrize("raw", [None, [], {}, {"completion_tokens": -1}, {"completion_tokens": True}])
def test_what_a_server_keeps_to_itself_is_estimated(raw: Any) -> None:
    read = usage(raw, reasoning_chars=10, written_chars=9)

    assert (read.reasoning_tokens, read.completion_tokens, read.prompt_tokens) == (3, 6, 0)


def test_an_estimate_of_thoughts_is_no_more_than_all_that_was_counted() -> None:
    assert usage({"completion_tokens": 5}, reasoning_chars=400).reasoning_tokens == 5


@pytest.mark.parametrize("cost", [None, "free", -0.1, "nan", float("inf"), {}])
def test_a_cost_that_is_none_is_not_known(cost: Any) -> None:
    assert usage({"cost": cost}).cost is None
