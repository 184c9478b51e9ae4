"""What failed attempts leave: their reasoning, a draft in it, the kicks that they cost."""

from collections.abc import Sequence
from typing import Any

import pytest

from bot.agent.ladder import default_ladder
from sandbox.model.answers import Answer, ChatRequest
from sandbox.model.faults import FAULTS
from sandbox.model.server import Script
from tests.worker.agent.thinking import FALLBACK, MAIN, RESCUE, SEARCH, Bench, good, prompts, text_of

pytestmark = pytest.mark.anyio


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
