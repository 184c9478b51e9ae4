"""An agent's run: the forced last step, what an unfinished run leaves, what it may cost."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.scratchpad import read_scratchpad, write_scratchpad
from runtime.embedded import EmbeddedValkey
from sandbox.model.answers import Answer, ChatRequest
from sandbox.model.faults import FAULTS
from sandbox.patience import PATIENCE_SECONDS
from store.connection import Store, connect
from store.scripts import Scripts
from store.spending import Spending
from tests.worker.agent.thinking import (
    FALLBACK,
    MAIN,
    RESCUE,
    SEARCH,
    Bench,
    asked,
    costing,
    good,
    prompts,
    searching,
    text_of,
)

pytestmark = pytest.mark.anyio


async def test_twenty_steps_of_searching_end_in_words(bench: Bench) -> None:
    bench.model.script([searching(n) for n in range(19)])
    bench.model.play_for_good(good())

    result = await bench.run(seconds=30, last_step_max_tokens=1234)

    assert result.reply is not None
    assert result.partial
    assert result.reply.text == RESCUE
    assert len(bench.model.requests) == 20
    last = bench.model.requests[-1]
    assert last["tool_choice"] == "none"
    assert last["tools"]
    assert last["max_tokens"] == 1234
    assert last["messages"][0]["content"].startswith(bench.model.requests[0]["messages"][0]["content"])
    assert last["messages"][0]["content"].endswith(prompts().final_step)
    assert last["messages"][-1] == {"role": "user", "content": prompts().final_step}
    assert all("tool_choice" not in r for r in bench.model.requests[:-1])


async def test_the_chain_of_the_last_step(bench: Bench) -> None:
    bench.model.script([searching(n) for n in range(1)])
    bench.model.play_for_good(FAULTS["call_on_last_step"], model=MAIN)
    bench.model.play_for_good(good(), model=FALLBACK)

    result = await bench.run(max_steps=2)

    assert result.reply is not None
    assert result.partial
    assert result.rescued_by == "fallback"
    kept, flat, other = bench.model.requests[1:]
    assert (kept["tool_choice"], kept["model"]) == ("none", MAIN)
    assert "tools" not in flat
    assert flat["model"] == MAIN
    assert flat["reasoning"] == {"enabled": False}
    assert "tools" not in other
    assert other["model"] == FALLBACK
    for request in (flat, other):
        assert "Already looked up" in text_of(request)
        assert prompts().final_step in request["messages"][-1]["content"]


async def test_time_is_kept_back_for_the_last_step(bench: Bench) -> None:
    def slow_search(request: ChatRequest) -> Any:
        return replace(searching(request.number), delay_seconds=0.5).response(request)

    def play(request: ChatRequest) -> Any:
        return slow_search(request) if request.may_call_tools else good().response(request)

    bench.model.play_for_good(play)

    result = await bench.run(seconds=5, max_steps=100)

    assert result.reply is not None
    assert result.partial
    assert 1 < len(bench.model.requests) < 8
    assert {a.rung for a in result.attempts} == {"main"}


async def test_a_tool_step_that_hangs_leaves_time_for_the_fallback(bench: Bench) -> None:
    bench.model.script([SEARCH, FAULTS["hang"]])
    bench.model.play_for_good(good())

    result = await bench.run(seconds=4)

    assert result.reply is not None
    assert result.rescued_by == "fallback"
    assert "Already looked up" in text_of(bench.model.requests[-1])


async def test_what_a_failed_turn_had_found_is_not_looked_up_again(bench: Bench) -> None:
    bench.model.script([SEARCH])
    bench.model.play_for_good(FAULTS["500"])
    failed = await bench.run()
    assert failed.reply is None

    bench.model.reset()
    bench.model.play_for_good(good())
    result = await bench.run(asked("?", scratchpad=failed.scratchpad))

    assert result.reply is not None
    assert result.scratchpad == ""
    (request,) = bench.model.requests
    assert "search_knowledge" in text_of(request)
    assert "Already looked up" in text_of(request)


async def test_a_partial_answer_leaves_its_findings_and_a_whole_one_nothing(bench: Bench) -> None:
    bench.model.script([SEARCH])
    bench.model.play_for_good(good())
    whole = await bench.run(max_steps=3)
    bench.model.script([SEARCH])
    partial = await bench.run(max_steps=2)

    assert whole.scratchpad == ""
    assert partial.partial
    assert read_scratchpad(partial.scratchpad, now_ms=3_000)


async def test_a_turn_that_fails_again_keeps_what_an_earlier_one_had_found(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["401"])

    result = await bench.run(asked("?", scratchpad=write_scratchpad(["search x\nКружка"], "", at_ms=1_000)))

    assert read_scratchpad(result.scratchpad, now_ms=4_000) == ("search x\nКружка",)


async def test_a_beginning_that_was_cut_is_kept_as_a_draft(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["cut_stream"])

    result = await bench.run()

    assert "Кружка стоит 19" in result.scratchpad


async def test_a_cancelled_turn_has_told_what_it_found(bench: Bench) -> None:
    bench.model.script([SEARCH])
    bench.model.play_for_good(FAULTS["hang"])
    notes: list[str] = []
    found = asyncio.Event()

    def on_found(note: str) -> None:
        notes.append(note)
        found.set()

    turn = asyncio.create_task(bench.run(seconds=20, on_found=on_found))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await found.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn

    assert "search_knowledge" in notes[-1]


# Caps.
@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
async def redis(valkey: EmbeddedValkey) -> Any:
    client: Store = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield client
    await client.aclose()


async def test_a_turn_that_has_cost_too_much_ends_in_the_stub(bench: Bench) -> None:
    bench.model.play_for_good(costing(0.02, Answer(content="")))

    result = await bench.run(max_cost_per_turn=0.03)

    assert result.reply is None
    assert result.rule == "cost_turn"
    assert len(bench.model.requests) == 2


async def test_a_search_that_has_cost_too_much_ends_in_the_stub_with_its_findings(bench: Bench) -> None:
    bench.model.play_for_good(costing(0.02, SEARCH))

    result = await bench.run(max_cost_per_turn=0.03)

    assert result.rule == "cost_turn"
    assert len(bench.model.requests) == 2
    assert result.scratchpad


async def test_a_reply_that_is_there_is_given_whatever_it_cost(bench: Bench) -> None:
    bench.model.play_for_good(costing(5, good()))

    result = await bench.run(max_cost_per_turn=0.03)

    assert result.reply is not None


async def test_a_day_that_has_cost_too_much_asks_no_model(bench: Bench, redis: Store) -> None:
    spending = Spending(Scripts(redis))
    bench.model.play_for_good(costing(0.6, good()))
    first = await bench.run(max_cost_per_day=1, spending=spending)
    second = await bench.run(max_cost_per_day=1, spending=spending)
    third = await bench.run(max_cost_per_day=1, spending=Spending(Scripts(redis)))

    assert first.reply is not None
    assert second.reply is not None
    assert third.rule == "cost_day"
    assert len(bench.model.requests) == 2
    assert await spending.today() == pytest.approx(1.2)


async def test_spending_without_redis_costs_no_reply(bench: Bench) -> None:
    client = connect("redis://127.0.0.1:1/0", max_connections=1, timeout_seconds=1)
    bench.model.play_for_good(costing(0.6, good()))

    result = await bench.run(max_cost_per_day=1, spending=Spending(Scripts(client)))
    await client.aclose()

    assert result.reply is not None
