"""A turn against each kind of model server: repaired within the turn, and not refused again in the next one."""

import asyncio
from dataclasses import replace

import pytest
from starlette.responses import Response

from bot.conversation import HistoryLine
from runtime.config import CustomerLimits
from runtime.embedded import EmbeddedValkey
from runtime.files.alert_words import read_alert_words
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import FAULTS
from sandbox.model.servers import SERVERS
from store.connection import connect
from store.outboxes.alerts import AlertOutbox
from store.scripts import Scripts
from tests.rooms import ROOT
from tests.worker.agent.thinking import FALLBACK, MAIN, QUESTION, RESCUE, Bench, asked, good
from worker.agent.model_notes import ALERTS, ModelNotes

pytestmark = pytest.mark.anyio

MODEL = "some/model"
SEARCH = Answer(tool_calls=[tool_call("search_knowledge", {"query": "кружка"})], finish_reason="tool_calls")
# How many requests the first turn may cost, the answered one included.
FIRST = {
    "gpt_5": 5,  # without the fields of routers, then a name, a temperature and a stream
    "ollama": 2,
    "llama_cpp": 2,
    "vllm_window": 2,
    "vllm_at_least": 2,
    "vllm_no_parser": 2,
    "poor": 2,
    "gemma": 3,
    "mistral": 2,
    "groq": 3,
    "tgi": 2,
    "deepseek_reasoner": 1,
}
BOT_FIRST = (HistoryLine("bot", "Здравствуйте! Спасибо за комментарий.", 1),)


def test_every_server_of_the_catalogue_is_tried() -> None:
    assert set(FIRST) | {"penniless"} == set(SERVERS)


@pytest.mark.parametrize("name", FIRST)
async def test_a_server_is_learned_once_and_every_later_turn_is_one_request(bench: Bench, name: str) -> None:
    bench.model.behave_as(name)
    bench.model.play_for_good(good())
    learned: list[tuple[str, str]] = []
    llm = bench.client(lambda model, what: learned.append((model, what)))

    first = await bench.run(asked(history=BOT_FIRST), llm=llm, name=MODEL, temperature=0.3)
    cost = len(bench.model.requests)
    second = await bench.run(asked(history=BOT_FIRST), llm=llm, name=MODEL, temperature=0.3)

    assert first.reply is not None
    assert second.reply is not None
    assert first.reply.text == second.reply.text == RESCUE
    assert [a.rung for a in first.attempts if a.verdict == "success"] == ["main"]
    assert (cost, len(bench.model.requests)) == (FIRST[name], FIRST[name] + 1)
    assert len(learned) == len(set(learned))  # each is told once
    assert (not learned) == (FIRST[name] == 1)
    assert {model for model, _ in learned} <= {MODEL}


@pytest.mark.parametrize("name", ["ollama", "llama_cpp", "vllm_no_parser", "gemma"])
async def test_a_model_without_tools_is_told_so_and_given_what_is_known(bench: Bench, name: str) -> None:
    bench.model.behave_as(name)
    bench.model.play_for_good(good())

    await bench.run(name=MODEL)

    request = bench.model.requests[-1]
    said = "\n".join(str(message["content"]) for message in request["messages"])
    assert "tools" not in request
    assert "Tools are not available here" in said
    assert "[Already looked up for this answer" in said
    assert "search_knowledge" in said
    assert QUESTION in said


async def test_a_fallback_without_tools_goes_on_from_what_the_main_model_has_found(bench: Bench) -> None:
    def toolless(request: ChatRequest) -> Response:
        return SERVERS["ollama"].refuses(request.body) or good().response(request)

    bench.model.script([SEARCH, FAULTS["content_filter"]], model=MAIN)
    bench.model.play_for_good(toolless, model=FALLBACK)

    result = await bench.run()

    assert result.reply is not None
    assert result.rescued_by == "fallback"
    said = str(bench.model.requests[-1]["messages"])
    assert said.count("[Already looked up") == 1
    assert '"кружка"' in said.replace("\\", "")


async def test_a_balance_that_pays_for_no_reply_ends_in_the_stub(bench: Bench) -> None:
    bench.model.behave_as("penniless")
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is None
    assert result.rule == "account"
    assert [r["model"] for r in bench.model.requests] == [MAIN, FALLBACK]  # and neither is asked twice


async def test_what_is_left_of_the_balance_is_asked_for(bench: Bench) -> None:
    bench.model.behave_as("poor")
    bench.model.play_for_good(good())

    await bench.run()

    assert [r["max_tokens"] for r in bench.model.requests] == [8000, 1200]


async def test_a_small_window_costs_the_answer_its_length_and_not_the_history(bench: Bench) -> None:
    bench.model.behave_as("vllm_window")
    bench.model.play_for_good(good())
    history = [HistoryLine("customer" if n % 2 else "bot", f"Реплика номер {n}.", n) for n in range(20)]

    result = await bench.run(asked(history=history))

    assert result.reply is not None
    first, second = bench.model.requests
    assert first["messages"] == second["messages"]
    assert 256 <= second["max_tokens"] < first["max_tokens"]


async def test_a_prompt_that_leaves_no_room_is_trimmed(bench: Bench) -> None:
    bench.model.behave_as("vllm_window")
    bench.model.play_for_good(good())
    history = [HistoryLine("customer" if n % 2 else "bot", f"Реплика {n}. " + "слово " * 150, n) for n in range(20)]

    result = await bench.run(asked(history=history), limits=CustomerLimits(burst_chars=0))

    assert result.reply is not None
    assert "Реплика 9." in str(bench.model.requests[0]["messages"])
    assert "Реплика 9." not in str(bench.model.requests[-1]["messages"])


@pytest.mark.parametrize("name", ["groq", "vllm_window", "tgi", "deepseek_reasoner", "gpt_5"])
async def test_a_search_goes_through(bench: Bench, name: str) -> None:
    bench.model.behave_as(name)
    bench.model.script([SEARCH, good()])

    result = await bench.run(name=MODEL)

    assert result.reply is not None
    assert [a.verdict for a in result.attempts if a.verdict != "call_failed"] == ["tool_step", "success"]


async def test_a_refused_tool_choice_at_the_last_step_is_left_out_from_then_on(bench: Bench) -> None:
    bench.model.behave_as("deepseek_reasoner")
    calls = [replace(SEARCH, tool_calls=[tool_call("search_knowledge", {"query": f"{n}"})]) for n in range(4)]
    llm = bench.client()

    for _ in range(2):
        bench.model.script([*calls[:2], good()])
        result = await bench.run(llm=llm, name=MODEL, max_steps=3)
        assert result.reply is not None
        assert result.partial

    assert sum("tool_choice" in request for request in bench.model.requests) == 1


async def test_two_turns_at_once_learn_the_same_and_both_answer(bench: Bench) -> None:
    bench.model.behave_as("gpt_5")
    bench.model.play_for_good(good())
    llm = bench.client()

    results = await asyncio.gather(*(bench.run(llm=llm, name=MODEL) for _ in range(8)))

    assert all(result.reply is not None for result in results)


@pytest.mark.parametrize(("server", "rule"), [("ollama", "model_no_tools"), ("poor", "model_balance_low")])
async def test_what_costs_answers_is_told_to_the_managers_once(bench: Bench, server: str, rule: str) -> None:
    with EmbeddedValkey() as valkey:
        redis = connect(valkey.url, max_connections=5, timeout_seconds=5)
        outbox = AlertOutbox(Scripts(redis))
        notes = ModelNotes(outbox, now_ms=lambda: 1)
        bench.model.behave_as(server)
        bench.model.play_for_good(good())
        llm = bench.client(notes)

        for _ in range(3):
            await bench.run(llm=llm, name=MODEL)
        telling = asyncio.create_task(notes.run())
        async with asyncio.timeout(20):
            while not (waiting := await outbox.waiting()):
                await asyncio.sleep(0.01)
        telling.cancel()
        await redis.aclose()

    assert [(one.alert.rule, one.alert.detail, one.alert.count) for one in waiting] == [(rule, MODEL, 1)]


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_there_are_words_for_what_managers_are_told(locale: str) -> None:
    words = read_alert_words(ROOT / "prompts", locale)

    assert set(ALERTS.values()) <= words.reasons.keys()
