"""What the client does about a failure: fields dropped once, nothing repeated, no secret told."""

import asyncio
import pickle
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest
from starlette.responses import Response

from bot.model_output import CallFault, ModelCallFailed
from clients.llm.client import LLMClient
from sandbox.model.answers import Answer, ChatRequest
from sandbox.model.faults import FAULTS
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer
from tests.clients.llm.asked import PATIENT, REQUEST, WITH_TOOLS

pytestmark = pytest.mark.anyio


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
