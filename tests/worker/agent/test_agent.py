"""Beyond single silences: repaired requests, the forced last step, unfinished turns, caps, salvage, hints."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.ladder import Rung, default_ladder
from bot.agent.scratchpad import read_scratchpad, write_scratchpad
from bot.conversation import HistoryLine
from runtime.embedded import EmbeddedValkey
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import FAULTS
from sandbox.model.server import Script
from sandbox.patience import PATIENCE_SECONDS
from store.connection import Store, connect
from store.scripts import Scripts
from store.spending import Spending
from tests.worker.agent.thinking import FALLBACK, MAIN, QUESTION, RESCUE, Bench, asked, good, prompts

pytestmark = pytest.mark.anyio

SEARCH = Answer(tool_calls=[tool_call("search_knowledge", {"query": "кружка"})], finish_reason="tool_calls")
HISTORY = tuple(
    HistoryLine("customer" if n % 2 else "bot", f"Реплика номер {n}, о керамике и курсах.", n) for n in range(20)
)


def searching(number: int) -> Answer:
    call = tool_call("search_knowledge", {"query": f"кружка {number}"}, call_id=f"call_{number}")
    return replace(SEARCH, tool_calls=[call])


def text_of(request: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in request["messages"])


# Repairs: the same rung with the request mended.


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


# The forced last step.


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


# Unfinished turns.


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


def costing(dollars: float, answer: Answer) -> Answer:
    return replace(answer, usage={"prompt_tokens": 10, "completion_tokens": 10, "cost": dollars})


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


# Salvage.

DRAFT = "Для подарка маме вам подойдёт кружка ручной работы, могу рассказать о цветах."
LOCKED_DRAFT = Answer(content="", reasoning=f"She wants a gift.\n\nDraft: {DRAFT}")


async def test_salvage_is_off_by_default(bench: Bench) -> None:
    bench.model.play_for_good(LOCKED_DRAFT)

    result = await bench.run()

    assert result.reply is None
    assert "salvage" not in {a.rung for a in result.attempts}


async def test_a_draft_in_the_reasoning_is_rewritten_by_the_fallback_model(bench: Bench) -> None:
    def play(request: ChatRequest) -> Any:
        asked_to_rewrite = DRAFT in text_of(dict(request.body))
        return (good() if asked_to_rewrite else LOCKED_DRAFT).response(request)

    bench.model.play_for_good(play)

    result = await bench.run(salvage=True)

    assert result.reply is not None
    assert result.salvaged
    assert result.rescued_by == "salvage"
    assert result.reply.text == RESCUE
    last = bench.model.requests[-1]
    assert last["model"] == FALLBACK
    assert last["reasoning"] == {"enabled": False}
    assert "tools" not in last


async def test_reasoning_without_a_reply_in_them_is_not_salvaged(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["reasoning_lock"])

    result = await bench.run(salvage=True)

    assert result.reply is None
    assert len(bench.model.requests) == 4


# The reasoning of failures.


async def test_reasoning_of_failures_is_handed_on_and_that_of_replies_is_not(bench: Bench) -> None:
    bench.model.script([LOCKED_DRAFT, good()])

    result = await bench.run()

    assert [(r.rung, r.rule) for r in result.reasonings] == [("main", "reasoning_lock")]
    assert result.reasonings[0].text == LOCKED_DRAFT.reasoning


async def test_reasoning_without_end_leaves_what_it_was(bench: Bench) -> None:
    bench.model.script([FAULTS["thinking_forever"]])
    bench.model.play_for_good(good())

    result = await bench.run(seconds=4)

    assert result.reply is not None
    (kept,) = result.reasonings
    assert (kept.rung, kept.rule) == ("main", "thinking_too_long")
    assert kept.text.startswith("Let me think again.")
    failed = result.attempts[0]
    assert failed.reasoning_tokens == failed.completion_tokens > 0
    assert failed.prompt_tokens > 0


async def test_what_a_failed_turn_had_begun_to_say_goes_to_the_scratchpad(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["stall"])
    heard: list[str] = []

    result = await bench.run(seconds=4, on_found=heard.append)

    assert result.reply is None
    assert "Здравствуйте! Кружка" in result.scratchpad
    assert "Здравствуйте! Кружка" in heard[-1]
    assert result.attempts[0].content_chars == len("Здравствуйте! Кружка")


async def test_the_beginning_of_nonsense_is_not_kept(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["drip"])

    result = await bench.run(seconds=4)

    assert result.reply is None
    assert result.scratchpad == ""


@pytest.mark.parametrize("kicks", [0, 1, 2])
async def test_max_kicks_is_respected(bench: Bench, kicks: int) -> None:
    bench.model.play_for_good(FAULTS["reasoning_lock"])

    result = await bench.run(max_kicks=kicks)

    rungs: Sequence[str] = [a.rung for a in result.attempts]
    assert rungs == [r.name for r in default_ladder(main=MAIN, fallback=FALLBACK, max_kicks=kicks)]
    assert sum(rung.startswith("kick") for rung in rungs) == kicks


async def test_an_announced_lookup_may_still_be_made(bench: Bench) -> None:
    script: list[Script] = [FAULTS["announces_tool"], SEARCH, good()]
    bench.model.script(script)

    result = await bench.run()

    assert result.reply is not None
    assert [(a.rung, a.verdict) for a in result.attempts] == [
        ("main", "retry_required"),
        ("kick_1", "tool_step"),
        ("kick_1", "success"),
    ]
    nudged = bench.model.requests[1]["messages"][0]["content"]
    assert "look it up now" in nudged
    assert prompts().kick(1) not in nudged
