"""Every fault of the stand-in, as the client tells it: a failed call, or a completion read for what it is."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import Response

from bot.model_output import CallFault, Completion, ModelCallFailed, ToolCall
from clients.llm.client import Deadlines, LLMClient
from sandbox.model.answers import ChatRequest
from sandbox.model.faults import FAULTS, GOOD_TEXT, Fault
from sandbox.model.server import ModelStandIn
from tests.clients.llm.asked import PATIENT, WITH_TOOLS

pytestmark = pytest.mark.anyio


# What each fault is to the client: a `CallFault`, or a completion with these fields.
SEEN: dict[str, CallFault | dict[str, Any]] = {
    "reasoning_lock": {"content": "", "finish_reason": "stop", "complete": True},
    "reasoning_lock_content": {"content": "", "finish_reason": "stop"},
    "length_lock": {"content": "", "finish_reason": "length"},
    "true_empty": {"content": "", "reasoning": "", "finish_reason": "stop"},
    "empty_few_tokens": {"content": ""},
    "null_content": {"content": "", "reasoning": ""},
    "whitespace": {"content": ""},
    "zero_width": {"content": "\u200b\u2060\ufeff\u200d\u00ad"},
    "finish_tool_calls_empty": {"content": "", "tool_calls": (), "finish_reason": "tool_calls"},
    "malformed_function_call": {"content": "", "native_finish_reason": "MALFORMED_FUNCTION_CALL"},
    "content_filter": {"content": "", "finish_reason": "content_filter"},
    "refusal_field": {"content": "", "refusal": "I'm sorry, I can't help with that."},
    "wrong_bucket": {"content": "", "reasoning": GOOD_TEXT},
    "cut_by_length": {"finish_reason": "length", "complete": True},
    "content_parts": {"content": GOOD_TEXT},
    "no_finish_reason": {"content": GOOD_TEXT, "finish_reason": None, "complete": True},
    "bad_arguments": {"tool_calls": (ToolCall("call_a1", "search_knowledge", '{"query": "кру'),)},
    "missing_arguments": {"tool_calls": (ToolCall("call_a1", "search_knowledge", "{}"),)},
    "call_ids_missing": {
        "tool_calls": (
            ToolCall("call_1", "search_knowledge", '{"query":"кружка"}'),
            ToolCall("call_2", "search_knowledge", '{"query":"курс"}'),
        )
    },
    "calls_with_stop": {"finish_reason": "stop"},
    "null_choices": CallFault.MALFORMED,
    "empty_choices": CallFault.MALFORMED,
    "error_in_200": CallFault.OVERLOADED,
    "error_in_choice": CallFault.OVERLOADED,
    "nested_in_provider": {"content": GOOD_TEXT, "provider": "Sandbox"},
    "ignores_stream": {"content": GOOD_TEXT, "finish_reason": "stop", "complete": True},
    "malformed_json": CallFault.MALFORMED,
    "html_200": CallFault.MALFORMED,
    "400": CallFault.BAD_REQUEST,
    "400_reasoning_lost": CallFault.BAD_REQUEST,
    "401": CallFault.ACCOUNT,
    "402": CallFault.ACCOUNT,
    "403_moderation": CallFault.MODERATION,
    "404_model": CallFault.NOT_FOUND,
    "404_tool_choice": CallFault.NOT_FOUND,
    "429": CallFault.OVERLOADED,
    "500": CallFault.OVERLOADED,
    "502_html": CallFault.OVERLOADED,
    "503": CallFault.OVERLOADED,
    "529": CallFault.OVERLOADED,
    "context_overflow": CallFault.CONTEXT_TOO_LONG,
}
SEEN_STREAMED: dict[str, CallFault | dict[str, Any]] = {
    "error_mid_stream": CallFault.OVERLOADED,
    "error_after_text": {"content": "Здравствуйте! Кружка", "finish_reason": "error", "complete": False},
    "length_as_error": {"content": "", "finish_reason": "length", "complete": True},
    "broken_event": CallFault.MALFORMED,
    "cut_stream": {"content": "Здравствуйте! Кружка стоит 19", "finish_reason": None, "complete": False},
    "cut_before_text": CallFault.CUT,
    "broken_connection": CallFault.CUT,
    "call_emitted_again": {"tool_calls": (ToolCall("call_a1", "search_knowledge", '{"query":"кружка"}'),)},
}


def whole(fault: Fault) -> Fault:
    """The same fault from a server that does not stream, whatever it was asked for."""

    def respond(request: ChatRequest) -> Response:
        return fault.respond(replace(request, body={**request.body, "stream": False}))

    return replace(fault, respond=respond)


async def check(llm: LLMClient, expected: CallFault | dict[str, Any]) -> None:
    if isinstance(expected, CallFault):
        with pytest.raises(ModelCallFailed) as caught:
            await llm.complete(WITH_TOOLS, PATIENT)
        assert caught.value.fault is expected
        return
    completion = await llm.complete(WITH_TOOLS, PATIENT)
    assert {name: getattr(completion, name) for name in expected} == expected


@pytest.mark.parametrize(("name", "expected"), [*SEEN.items(), *SEEN_STREAMED.items()])
async def test_a_streamed_answer_is_read_for_what_it_is(
    llm: LLMClient, model: ModelStandIn, name: str, expected: CallFault | dict[str, Any]
) -> None:
    model.script([FAULTS[name]])

    await check(llm, expected)


@pytest.mark.parametrize(("name", "expected"), SEEN.items())
async def test_an_answer_in_one_piece_is_read_the_same(
    llm: LLMClient, model: ModelStandIn, name: str, expected: CallFault | dict[str, Any]
) -> None:
    model.script([whole(FAULTS[name])])

    await check(llm, expected)


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - SEEN.keys() - SEEN_STREAMED.keys()))
async def test_no_fault_escapes_as_anything_but_a_failed_call(llm: LLMClient, model: ModelStandIn, name: str) -> None:
    model.script([FAULTS[name]])
    short = Deadlines(first_byte_seconds=0.5, idle_seconds=0.3, total_seconds=1.5, thinking_seconds=0.3)

    try:
        outcome: Completion | ModelCallFailed = await llm.complete(WITH_TOOLS, short)
    except ModelCallFailed as failed:
        outcome = failed

    assert outcome.seconds > 0
