"""Answers with something in them that no customer should read."""

import pytest

from sandbox.model.faults import FAULTS
from tests.worker.agent.thinking import RESCUE, Bench, good, prompts

pytestmark = pytest.mark.anyio


async def test_an_apology_for_the_silence_before_it_is_cut_from_the_answer(bench: Bench) -> None:
    apology = "Извините, мой предыдущий ответ был пустым."
    bench.model.script([FAULTS["reasoning_lock"], good(f"{apology} {RESCUE}")])

    result = await bench.run()

    assert result.reply is not None
    assert result.reply.text == RESCUE


async def test_a_recital_of_the_kick_is_not_shown(bench: Bench) -> None:
    bench.model.script([FAULTS["reasoning_lock"], good(prompts().kick(1)), good()])

    result = await bench.run()

    assert result.reply is not None
    assert result.reply.text == RESCUE
    assert [a.rule for a in result.attempts] == ["reasoning_lock", "kick_leak", "ok"]


async def test_half_a_price_before_an_error_is_never_shown(bench: Bench) -> None:
    bench.model.script([FAULTS["error_after_text"]])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    assert result.reply.text == RESCUE
    assert [a.rule for a in result.attempts] == ["stream_cut", "ok"]


async def test_a_call_that_is_emitted_again_runs_once(bench: Bench) -> None:
    bench.model.script([FAULTS["call_emitted_again"]])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    # Its stream has no reasoning to send back, so the server refuses the tool step, and it is told as plain words.
    assert [a.verdict for a in result.attempts] == ["tool_step", "call_failed", "success"]
    assert bench.model.requests[-1]["messages"][-1]["content"].count("search_knowledge") == 1


async def test_two_silences_of_different_kinds_count_together(bench: Bench) -> None:
    bench.model.script([FAULTS["reasoning_lock"], FAULTS["true_empty"], FAULTS["whitespace"], FAULTS["zero_width"]])
    bench.model.play_for_good(FAULTS["tags_only"])

    result = await bench.run()

    assert result.reply is None
    assert len(result.attempts) <= 6
