"""Caps hold where the server names no cost: the catalogue's prices stand in."""

from dataclasses import replace
from typing import Any

import pytest

from bot.agent.ladder import default_ladder
from bot.model_output import Usage
from runtime.settings import Model
from sandbox.model.answers import Answer
from sandbox.model.faults import FAULTS
from tests.worker.agent.thinking import FALLBACK, MAIN, Bench
from worker.agent.cost_cap import CostCap, Prices
from worker.agent.model_catalogue import look_at_models

USAGE = Usage(prompt_tokens=1000, cached_tokens=600, completion_tokens=100)


def known(pricing: Any) -> Prices:
    prices = Prices()
    prices.learn({"a/main": {"pricing": pricing}})
    return prices


@pytest.mark.parametrize(
    ("pricing", "cost"),
    [
        ({"prompt": "0.001", "completion": "0.01"}, 2.0),
        ({"prompt": "0.001", "completion": "0.01", "input_cache_read": "0.0001"}, 1.46),
        ({"prompt": 0.001, "completion": 0.01, "request": "0.5"}, 2.5),
        ({"prompt": "0", "completion": "0"}, 0.0),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "0.001"}, None),
        ({"prompt": "NaN", "completion": "inf"}, None),
        ({"prompt": None, "completion": []}, None),
        ("free", None),
        (None, None),
    ],
)
def test_a_price_is_taken_as_far_as_it_is_one(pricing: Any, cost: float | None) -> None:
    found = known(pricing).of("a/main", USAGE)

    assert found == (None if cost is None else pytest.approx(cost))


def test_what_the_server_names_wins() -> None:
    cost_cap = CostCap(Model(), prices=known({"prompt": "1", "completion": "1"}), spending=None)

    assert cost_cap.priced(replace(USAGE, cost=0.25), model_asked="a/main").cost == 0.25
    assert cost_cap.priced(USAGE, model_asked="a/main").cost == pytest.approx(1100)
    assert cost_cap.priced(USAGE, model_asked="b/other").cost is None
    assert cost_cap.priced(Usage(prompt_tokens=10), model_asked="a/main").cost is None


@pytest.mark.anyio
async def test_a_cap_holds_without_a_cost_in_the_answers(bench: Bench) -> None:
    """The sandbox's catalogue asks $0.1 a million tokens read and $0.4 a million written."""
    prices = Prices()
    ladder = default_ladder(main=MAIN, fallback=FALLBACK, max_kicks=2)
    await look_at_models(bench.http, base_url=bench.url, api_key="sk-invented", rungs=ladder, prices=prices)
    usage = {"prompt_tokens": 100_000, "completion_tokens": 50_000}
    bench.model.play_for_good(Answer(content="", reasoning="Hm. ", usage=usage))

    result = await bench.run(max_cost_per_turn=0.05, prices=prices)

    assert result.rule == "cost_turn"
    assert [a.cost for a in result.attempts] == [pytest.approx(0.03)] * 2


@pytest.mark.anyio
async def test_a_call_that_was_cut_off_is_paid_by_what_had_come(bench: Bench) -> None:
    prices = Prices()
    prices.learn({MAIN: {"pricing": {"prompt": "0", "completion": "0.001"}}})
    bench.model.play_for_good(FAULTS["thinking_forever"])

    result = await bench.run(seconds=4, max_cost_per_turn=0.001, prices=prices)

    assert result.rule == "cost_turn"
    (attempt,) = result.attempts
    assert attempt.cost == pytest.approx(attempt.completion_tokens * 0.001)
