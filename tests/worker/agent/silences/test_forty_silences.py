"""Every way into silence, played once and for good through the real agent."""

from collections.abc import Sequence
from typing import Any

import pytest

from bot.text.visible import is_blank
from sandbox.model.faults import FAULTS, GOOD_TEXT, TAGS
from sandbox.model.server import Script
from tests.worker.agent.silences.catalogue import FALLBACK, KICKED, LOCK, MALFORMED, REPEATED, TIMED, Fit, Row, rungs
from tests.worker.agent.thinking import RESCUE, Bench, good, prompts, whole
from worker.agent.agent import AgentResult

pytestmark = pytest.mark.anyio


CALLS_ON = ("main", "main", "main", "main", "kick_2", "fallback")  # three tool steps, then the chain of the last step


HELLO = GOOD_TEXT.removesuffix(TAGS).strip()


SILENCES: dict[str, Row | Fit] = {
    # Nothing readable in an answer that looks like a success.
    "reasoning_lock": LOCK,
    "reasoning_lock_content": LOCK,
    "draft_in_reasoning": LOCK,
    "wrong_bucket": LOCK,
    "whitespace": LOCK,
    "finish_tool_calls_empty": LOCK,
    "length_lock": Row("budget_eaten", KICKED),
    "length_as_error": Row("budget_eaten", KICKED, whole=LOCK),
    "true_empty": Row("true_empty", REPEATED),
    "null_content": Row("true_empty", REPEATED),
    "empty_few_tokens": Row("true_empty", REPEATED),
    "obeyed_silence": Row("true_empty", REPEATED),
    "filler_collapse": Row("empty_with_tokens", KICKED),
    "malformed_function_call": Row("malformed_call", REPEATED),
    "zero_width": Row("zero_width", KICKED),
    "blank_letters": Row("zero_width", KICKED),
    "tags_only": Row("tags_only", KICKED),
    "think_tags_only": Row("tags_only", KICKED),
    "unclosed_think": Row("unclosed_think", KICKED),
    "fences_only": Row("markup_only", KICKED),
    "punctuation_only": Row("markup_only", KICKED),
    "null_word": Row("markup_only", KICKED),
    # Text that no customer may read.
    "cut_by_length": Row("length_cut", KICKED),
    "dsml": Row("tool_syntax", KICKED),
    "dsml_ascii": Row("tool_syntax", KICKED),
    "tool_syntax_xml": Row("tool_syntax", KICKED),
    "function_tag": Row("tool_syntax", KICKED),
    "bare_json_call": Row("tool_syntax", KICKED),
    "announces_tool": Row("announced_tool", KICKED),
    "prompt_leak": Row("prompt_leak", KICKED),
    "stage_leak": Row("prompt_leak", KICKED),
    "sentinel": Row("sentinel", KICKED),
    "no_reply": Row("sentinel", KICKED),
    "error_text": Row("machine_text", KICKED),
    "monologue": Row("tool_syntax", KICKED),
    "wrong_language": Row("wrong_language", KICKED),
    "chinese_garble": Row("wrong_language", KICKED),
    "object_wrapper": Row("json_wrapper", KICKED),
    "content_filter": Row("content_filter", FALLBACK),
    "refusal_field": Row("refusal", FALLBACK),
    "refusal_text": Row("refusal", FALLBACK),
    "loop": Row("loop", FALLBACK),
    # Good words in a strange dress.
    "orphan_think": Fit(HELLO),
    "balanced_think": Fit(HELLO),
    "no_tags": Fit("Здравствуйте! Рада помочь с выбором."),
    "json_wrapper": Fit(HELLO),
    "content_parts": Fit(HELLO),
    "no_finish_reason": Fit(HELLO),
    "nested_in_provider": Fit(HELLO),
    "ignores_stream": Fit(HELLO),
    # Bodies and streams that are no answer.
    "null_choices": MALFORMED,
    "empty_choices": MALFORMED,
    "malformed_json": MALFORMED,
    "html_200": MALFORMED,
    "broken_event": Row("malformed", REPEATED, whole=LOCK),
    "error_in_200": Row("overloaded", REPEATED),
    "error_in_choice": Row("overloaded", REPEATED),
    "error_mid_stream": Row("overloaded", REPEATED, whole=LOCK),
    "cut_stream": Row("stream_cut", REPEATED, whole=MALFORMED),
    "cut_before_text": Row("cut", REPEATED, whole=MALFORMED),
    "broken_connection": Row("cut", REPEATED),
    # Refusals.
    "400": Row("bad_request", FALLBACK),
    "400_system_not_first": Row("bad_request", FALLBACK),
    "400_empty_content": Row("bad_request", FALLBACK),
    "400_prefill": Row("bad_request", FALLBACK),
    "400_tools_missing": Row("bad_request", FALLBACK),
    "400_reasoning_lost": Row("bad_request", FALLBACK),
    "400_reasoning_mandatory": Row("bad_request", ("main", "fallback", "fallback")),  # that one can stop asking for it
    "422": Row("bad_request", FALLBACK),
    "401": Row("account", FALLBACK),
    "402": Row("account", ("main", "main", "fallback", "fallback")),  # each again with half of max_tokens
    "403_key": Row("account", FALLBACK),
    "403_moderation": Row("moderation", FALLBACK),
    "404_model": Row("not_found", ("main", "fallback", "fallback")),
    "404_tool_choice": Row("not_found", ("main", "fallback", "fallback")),
    "408": Row("overloaded", REPEATED),
    "413": Row("context_too_long", REPEATED),
    "context_overflow": Row("context_too_long", REPEATED),
    "500": Row("overloaded", REPEATED),
    "502_html": Row("overloaded", REPEATED),
    "503": Row("overloaded", REPEATED),
    "524": Row("overloaded", REPEATED),
    "529": Row("overloaded", REPEATED),
    "429": Row("overloaded", REPEATED),
}


# Calls that are run and answered: once they end well by themselves, for good at the forced last step.
TOOL_FAULTS: dict[str, Sequence[str]] = {
    "same_call_repeated": CALLS_ON,
    "bad_arguments": CALLS_ON,
    "missing_arguments": CALLS_ON,
    "calls_with_stop": CALLS_ON,
    "call_ids_missing": CALLS_ON,
    "unknown_tool": CALLS_ON[1:],  # two of them are enough
    "call_on_last_step": ("main",) * 20 + ("kick_2", "fallback"),
}


ELSEWHERE = {
    "slow",  # an answer like any other, only later
    "kick_apology",  # means something only after a kick: below
    "error_after_text",  # as cut_stream where it is streamed, a good answer where not: below
    "call_emitted_again",  # its stream has lost the reasoning: below
}


def as_played(name: str, *, streamed: bool) -> Script:
    return FAULTS[name] if streamed else whole(FAULTS[name])


def row_of(name: str, *, streamed: bool) -> Row | Fit:
    row = SILENCES[name]
    return row.whole if isinstance(row, Row) and row.whole and not streamed else row


def check_telemetry(result: AgentResult, requests: Sequence[dict[str, Any]]) -> None:
    """A record for every call, with what was asked, by whom it was answered and what became of it."""
    assert [a.model_asked for a in result.attempts] == [r["model"] for r in requests]
    assert [a.max_tokens for a in result.attempts] == [r["max_tokens"] for r in requests]
    for attempt in result.attempts:
        assert attempt.prompt_hash == prompts().hash
        assert attempt.verdict
        assert attempt.seconds > 0
        if attempt.verdict not in ("call_failed", "tool_step"):
            assert attempt.provider == "Sandbox"
            assert attempt.generation_id.startswith("gen-sandbox-")
            assert attempt.model == attempt.model_asked


def test_no_fault_of_the_catalogue_is_forgotten() -> None:
    assert set(FAULTS) == SILENCES.keys() | TOOL_FAULTS.keys() | TIMED.keys() | ELSEWHERE


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", SILENCES)
async def test_once_is_rescued_by_the_next_rung(bench: Bench, name: str, streamed: bool) -> None:
    row = row_of(name, streamed=streamed)
    bench.model.script([as_played(name, streamed=streamed)])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    check_telemetry(result, bench.model.requests)
    if isinstance(row, Fit):
        assert result.reply.text == row.text
        assert rungs(result) == ("main",)
        assert result.rescued_by == ""
        return
    assert result.reply.text == RESCUE
    assert rungs(result) == tuple(row.rungs[:2])
    assert result.rescued_by == row.rungs[1]
    assert [a.rule for a in result.attempts] == [row.rule, "ok"]
    assert not result.partial


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", [name for name, row in SILENCES.items() if isinstance(row, Row)])
async def test_for_good_only_the_stub_is_left(bench: Bench, name: str, streamed: bool) -> None:
    row = row_of(name, streamed=streamed)
    assert isinstance(row, Row)
    bench.model.play_for_good(as_played(name, streamed=streamed))

    result = await bench.run()

    assert result.reply is None
    assert result.rule == row.rule
    assert rungs(result) == tuple(row.rungs)
    assert {a.rule for a in result.attempts} == {row.rule}
    check_telemetry(result, bench.model.requests)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", TOOL_FAULTS)
async def test_a_strange_call_once_costs_one_step(bench: Bench, name: str, streamed: bool) -> None:
    bench.model.script([as_played(name, streamed=streamed)])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    assert result.reply.text == RESCUE
    assert [(a.rung, a.verdict) for a in result.attempts] == [("main", "tool_step"), ("main", "success")]
    assert result.rescued_by == ""
    answers = [m for m in bench.model.requests[1]["messages"] if m["role"] == "tool"]
    assert answers
    assert not any(is_blank(answer["content"]) for answer in answers)
    check_telemetry(result, bench.model.requests)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", TOOL_FAULTS)
async def test_calls_for_good_end_at_the_forced_last_step(bench: Bench, name: str, streamed: bool) -> None:
    bench.model.play_for_good(as_played(name, streamed=streamed))

    result = await bench.run(seconds=20)

    assert result.reply is None
    assert result.rule == "tool_call_on_last_step"
    assert rungs(result) == tuple(TOOL_FAULTS[name])
    assert [a.verdict for a in result.attempts[:-3]] == ["tool_step"] * (len(TOOL_FAULTS[name]) - 3)
    check_telemetry(result, bench.model.requests)
