"""One call to the model: what is sent, and what becomes of every answer in the stand-in's catalogue."""

import asyncio
import pickle
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest
from starlette.responses import Response

from bot.model_output import CallFault, Completion, ModelCallFailed, ToolCall
from clients.llm.client import Deadlines, LLMClient, ModelRequest
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import FAULTS, GOOD_TEXT, Fault
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

PATIENT = Deadlines(*[PATIENCE_SECONDS] * 4)
SYSTEM = {"role": "system", "content": "You are the assistant of an invented studio of ceramics."}
TOOL = {"type": "function", "function": {"name": "search_knowledge", "parameters": {"type": "object"}}}
REQUEST = ModelRequest("deepseek/deepseek-v4-pro", [SYSTEM, {"role": "user", "content": "Hello!"}])
WITH_TOOLS = replace(REQUEST, tools=[TOOL])

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


async def test_a_plain_answer_is_complete_in_every_field(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([Answer(content="Hello! How can I help?", reasoning="A greeting.")])

    completion = await llm.complete(REQUEST, PATIENT)

    assert completion.content == "Hello! How can I help?"
    assert completion.reasoning == "A greeting."
    assert completion.model == "deepseek/deepseek-v4-pro"
    assert completion.provider == "Sandbox"
    assert completion.generation_id == "gen-sandbox-000001"
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.cached_tokens > 0
    assert completion.usage.reasoning_tokens == 3
    assert completion.usage.completion_tokens == 9
    assert completion.usage.cost is not None
    assert completion.first_byte_seconds is not None
    assert 0 < completion.first_byte_seconds <= completion.seconds
    assert completion.raw_message == {
        "role": "assistant",
        "content": "Hello! How can I help?",
        "reasoning": "A greeting.",
    }


async def test_the_body_says_what_was_asked_and_no_more(llm: LLMClient, model: ModelStandIn) -> None:
    await llm.complete(REQUEST, PATIENT)

    assert model.requests == [
        {
            "model": "deepseek/deepseek-v4-pro",
            "messages": list(REQUEST.messages),
            "max_tokens": 8000,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert model.keys == ["sk-invented-key"]


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        ({"thinking": "off"}, {"reasoning": {"enabled": False}}),
        ({"thinking": "low"}, {"reasoning": {"effort": "low"}}),
        ({"provider": {"data_collection": "deny"}}, {"provider": {"data_collection": "deny"}}),
        ({"session_id": "c-1", "user": "hash"}, {"session_id": "c-1", "user": "hash"}),
        ({"temperature": 0.0}, {"temperature": 0.0}),
        ({"tools": [TOOL]}, {"tools": [TOOL], "parallel_tool_calls": True}),
        ({"tools": [TOOL], "tool_choice": "none"}, {"tools": [TOOL], "tool_choice": "none"}),
        ({"tool_choice": "none"}, {}),
    ],
)
async def test_each_wish_becomes_its_field(
    llm: LLMClient, model: ModelStandIn, change: dict[str, Any], sent: dict[str, Any]
) -> None:
    await llm.complete(replace(REQUEST, **change), PATIENT)

    always = {"model", "messages", "max_tokens", "stream", "stream_options"}
    assert {key: value for key, value in model.requests[0].items() if key not in always} == sent


async def test_half_an_emoji_of_a_customer_does_not_stop_the_call(llm: LLMClient, model: ModelStandIn) -> None:
    await llm.complete(replace(REQUEST, messages=[{"role": "user", "content": "Hi \ud83d"}]), PATIENT)

    assert model.requests[0]["messages"] == [{"role": "user", "content": "Hi ?"}]


async def test_a_tool_turn_replayed_from_the_raw_message_is_taken(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([Answer(tool_calls=[tool_call("search_knowledge", {"query": "mug"})], finish_reason="tool_calls")])
    first = await llm.complete(WITH_TOOLS, PATIENT)

    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "Mug Mist"}
    second = await llm.complete(replace(WITH_TOOLS, messages=[*REQUEST.messages, first.raw_message, result]), PATIENT)

    assert first.raw_message["content"] is None
    assert first.raw_message["reasoning"]
    assert second.content


async def test_refused_fields_are_dropped_once_and_for_good(llm: LLMClient, model: ModelStandIn) -> None:
    def strict(request: ChatRequest) -> Response:
        if strangers := {"reasoning", "provider", "session_id"} & request.body.keys():
            message = f"Unrecognized request argument supplied: {max(strangers)}"
            return json_response(400, {"error": {"message": message, "type": "invalid_request_error"}})
        return Answer(content="Hello!").response(request)

    model.play_for_good(strict)
    request = replace(WITH_TOOLS, thinking="low", provider={"data_collection": "deny"}, session_id="c-1")

    first = await llm.complete(request, PATIENT)
    second = await llm.complete(request, PATIENT)

    assert (first.content, second.content) == ("Hello!", "Hello!")
    assert len(model.requests) == 3
    assert all(not {"reasoning", "provider", "session_id"} & body.keys() for body in model.requests[1:])


async def test_at_openrouter_only_the_named_field_goes() -> None:
    """`provider` carries the privacy of the customer, and OpenRouter knows it."""
    bodies: list[dict[str, Any]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        bodies.append(orjson.loads(request.content))
        if "parallel_tool_calls" in bodies[-1]:
            error = {
                "message": "Provider returned error",
                "metadata": {"raw": "Unknown parameter: 'parallel_tool_calls'."},
            }
            return httpx.Response(400, json={"error": error})
        return httpx.Response(200, json={"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]})

    request = replace(WITH_TOOLS, thinking="low", provider={"data_collection": "deny"})
    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as http:
        llm = LLMClient(http, base_url="https://openrouter.ai/api/v1", api_key="k")
        await llm.complete(request, PATIENT)

    assert bodies[0].keys() - bodies[1].keys() == {"parallel_tool_calls"}


async def test_a_server_that_goes_on_refusing_is_asked_only_twice(llm: LLMClient, model: ModelStandIn) -> None:
    model.play_for_good(
        lambda _: json_response(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "session_id"]}]})
    )

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(replace(REQUEST, session_id="c-1"), PATIENT)

    assert caught.value.fault is CallFault.BAD_REQUEST
    assert len(model.requests) == 2


async def test_other_refusals_are_not_repeated(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([FAULTS["400"]])

    with pytest.raises(ModelCallFailed):
        await llm.complete(replace(REQUEST, provider={"data_collection": "deny"}, thinking="low"), PATIENT)

    assert len(model.requests) == 1


async def test_a_failure_tells_its_story_without_secrets(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([FAULTS["429"]])

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, PATIENT)

    failed = caught.value
    assert (failed.fault, failed.status, failed.retry_after_seconds) == (CallFault.OVERLOADED, 429, 2.0)
    assert failed.detail == "rate_limit_exceeded"
    assert failed.generation_id == "gen-sandbox-refused"
    chain = repr(failed) + repr(failed.__cause__) + repr(failed.__context__)
    assert "sk-invented-key" not in chain
    assert "127.0.0.1" not in chain


async def test_what_had_come_is_kept_and_never_printed(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([Answer(content="Of course, the mug", reasoning="She asks.", end="hang")])

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, replace(PATIENT, idle_seconds=0.3))

    failed = pickle.loads(pickle.dumps(caught.value))
    assert (failed.fault, failed.partial_text) == (CallFault.IDLE, "Of course, the mug")
    assert failed.partial_reasoning == "She asks."
    assert "mug" not in f"{failed!r} {failed}"
    assert "She asks" not in f"{failed!r} {failed}"


async def test_a_server_that_is_not_there_is_a_connect_fault(http: httpx.AsyncClient) -> None:
    llm = LLMClient(http, base_url="http://127.0.0.1:9", api_key="k")

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, PATIENT)

    assert (caught.value.fault, caught.value.detail) == (CallFault.CONNECT, "ConnectError")


async def test_an_answer_without_end_is_cut_by_its_size(
    http: httpx.AsyncClient, model: ModelStandIn, model_server: SandboxServer
) -> None:
    llm = LLMClient(http, base_url=model_server.url, api_key="k", max_stream_bytes=20_000)
    model.script([Answer(content="Of course. " * 2000), Answer(content="", reasoning="And again. " * 2000)])

    loud = await llm.complete(REQUEST, PATIENT)
    with pytest.raises(ModelCallFailed) as silent:
        await llm.complete(REQUEST, PATIENT)

    assert loud.content.startswith("Of course.")
    assert not loud.complete
    assert (silent.value.fault, silent.value.detail) == (CallFault.MALFORMED, "too_large")


async def test_a_missing_usage_is_estimated(llm: LLMClient, model: ModelStandIn) -> None:
    model.script([Answer(content="12345678", reasoning="1234", usage={})])

    completion = await llm.complete(REQUEST, PATIENT)

    assert (completion.usage.completion_tokens, completion.usage.reasoning_tokens) == (3, 1)


async def test_two_hundred_calls_at_once_share_one_client(llm: LLMClient, model: ModelStandIn) -> None:
    model.play_for_good(Answer(content="Hello!", delay_seconds=0.2))

    answers = await asyncio.gather(*(llm.complete(REQUEST, PATIENT) for _ in range(200)))

    assert {answer.content for answer in answers} == {"Hello!"}
    assert len(model.requests) == 200


def json_response(status: int, body: dict[str, Any]) -> Response:
    return Response(orjson.dumps(body), status_code=status, media_type="application/json")


async def test_every_header_is_sent_once(http: httpx.AsyncClient) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        llm = LLMClient(http, base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-invented-key")
        with pytest.raises(ModelCallFailed):
            await llm.complete(REQUEST, PATIENT)

    request, *lines = heads[0].decode().split("\r\n")[:-2]
    names = [line.split(":")[0].lower() for line in lines]
    assert request == "POST /v1/chat/completions HTTP/1.1"
    assert sorted(names) == sorted(set(names))
    assert {"authorization: Bearer sk-invented-key", "accept-encoding: identity", f"host: 127.0.0.1:{port}"} <= {
        f"{line.split(':')[0].lower()}:{line.split(':', 1)[1]}" for line in lines
    }
