"""Repairs: the same rung with the request mended."""

from typing import Any

import pytest

from bot.agent.ladder import Rung
from bot.conversation import HistoryLine
from sandbox.model.answers import ChatRequest
from sandbox.model.faults import FAULTS
from tests.worker.agent.thinking import (
    FALLBACK,
    MAIN,
    QUESTION,
    SEARCH,
    Bench,
    asked,
    good,
    prompts,
    searching,
    text_of,
)

pytestmark = pytest.mark.anyio


HISTORY = tuple(
    HistoryLine("customer" if n % 2 else "bot", f"Реплика номер {n}, о керамике и курсах.", n) for n in range(20)
)


async def test_lost_reasoning_are_met_by_telling_the_search_as_plain_words(bench: Bench) -> None:
    bench.model.script([SEARCH, FAULTS["400_reasoning_lost"], good()])

    result = await bench.run()

    assert result.reply is not None
    assert [a.rung for a in result.attempts] == ["main"] * 3
    mended = bench.model.requests[-1]
    assert {m["role"] for m in mended["messages"]} == {"system", "user"}
    assert "Already looked up" in mended["messages"][-1]["content"]


async def test_a_model_that_must_think_is_asked_again_without_being_told_not_to(bench: Bench) -> None:
    bench.model.script([FAULTS["400"]], model=MAIN)
    bench.model.play_for_good(good())

    result = await bench.run(fallback="sandbox/always-thinking")

    assert result.reply is not None
    assert [(a.rung, a.verdict) for a in result.attempts] == [
        ("main", "call_failed"),
        ("fallback", "call_failed"),
        ("fallback", "success"),
    ]
    assert "reasoning" not in bench.model.requests[-1]


async def test_a_refused_tool_choice_is_left_out(bench: Bench) -> None:
    ladder = (Rung("main", MAIN), Rung("other", FALLBACK, is_fallback=True))

    def picky(request: ChatRequest) -> Any:
        fault = FAULTS["404_tool_choice"] if "tool_choice" in request.body else None
        return fault.respond(request) if fault else good().response(request)

    bench.model.script([searching(n) for n in range(2)])
    bench.model.play_for_good(picky)

    result = await bench.run(max_steps=3, ladder=ladder)

    assert result.reply is not None
    assert result.partial
    assert [a.rung for a in result.attempts] == ["main"] * 4
    assert "tool_choice" not in bench.model.requests[-1]
    assert bench.model.requests[-1]["tools"]


async def test_too_little_credit_halves_what_may_be_written(bench: Bench) -> None:
    bench.model.script([FAULTS["402"], good()])

    result = await bench.run(max_tokens=6000)

    assert result.reply is not None
    assert [r["max_tokens"] for r in bench.model.requests] == [6000, 3000]


async def test_a_context_that_overflows_is_trimmed_once(bench: Bench) -> None:
    bench.model.script([SEARCH, FAULTS["context_overflow"], good()])

    result = await bench.run(asked(history=HISTORY))

    assert result.reply is not None
    long, short = bench.model.requests[0], bench.model.requests[-1]
    assert "Реплика номер 5" in text_of(long)
    assert "Реплика номер 5" not in text_of(short)
    assert "Реплика номер 19" in text_of(short)
    assert QUESTION in text_of(short)


async def test_a_budget_eaten_by_thinking_is_doubled_and_not_kicked(bench: Bench) -> None:
    bench.model.script([FAULTS["length_lock"], good()])

    await bench.run(max_tokens=1000)

    assert [r["max_tokens"] for r in bench.model.requests] == [1000, 2000]
    assert prompts().kick(1) not in text_of(bench.model.requests[1])


async def test_a_foreign_tongue_is_answered_by_naming_the_language(bench: Bench) -> None:
    bench.model.script([FAULTS["wrong_language"], good()])

    result = await bench.run()

    assert result.reply is not None
    assert "Write in Russian" in bench.model.requests[1]["messages"][0]["content"]


async def test_an_empty_answer_is_asked_of_another_provider(bench: Bench) -> None:
    bench.model.script([FAULTS["true_empty"], good()])

    await bench.run()

    first, second = bench.model.requests
    assert second["provider"] == {"data_collection": "deny", "ignore": ["Sandbox"]}
    assert first["session_id"]
    assert "session_id" not in second


async def test_kicks_live_in_one_request_only(bench: Bench) -> None:
    bench.model.script([FAULTS["reasoning_lock"], SEARCH, FAULTS["reasoning_lock"], SEARCH, good()])

    await bench.run()

    for request in bench.model.requests:
        assert [m["role"] for m in request["messages"]].count("system") == 1
        assert request["messages"][0]["role"] == "system"
        assert text_of(request).count(prompts().kick(1)) <= 1
        assert text_of(request).count(prompts().kick(2)) <= 1
    assert prompts().kick(1) not in text_of(bench.model.requests[0])
    assert prompts().kick(1) not in text_of(bench.model.requests[-1])


async def test_provider_preferences_of_model_and_rung_are_joined(bench: Bench) -> None:
    bench.model.play_for_good(good())
    ladder = (Rung("main", MAIN, provider={"order": ["x"]}, thinking="low", max_tokens=900),)

    await bench.run(ladder=ladder, provider={"sort": "latency", "order": ["y"]})

    (request,) = bench.model.requests
    assert request["provider"] == {"data_collection": "deny", "sort": "latency", "order": ["x"]}
    assert request["reasoning"] == {"effort": "low"}
    assert request["max_tokens"] == 900
