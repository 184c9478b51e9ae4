"""One call to the model: what is sent, and what becomes of every answer in the stand-in's catalogue."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bot.model_output import ModelCallFailed
from clients.llm.client import LLMClient
from sandbox.model.answers import Answer, tool_call
from sandbox.model.server import ModelStandIn
from tests.clients.llm.asked import PATIENT, REQUEST, TOOL, WITH_TOOLS

pytestmark = pytest.mark.anyio


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
