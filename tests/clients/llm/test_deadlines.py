"""The four deadlines, each against a server that keeps all the others."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.responses import Response, StreamingResponse

from bot.model_output import CallFault, ModelCallFailed
from clients.llm.client import Deadlines, LLMClient, ModelRequest
from sandbox.model.answers import STREAM_HEADERS, Answer, ChatRequest
from sandbox.model.faults import FAULTS
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

REQUEST = ModelRequest("qwen/qwen3.8-flash", [{"role": "user", "content": "Hello!"}])
LONG = Deadlines(*[2 * PATIENCE_SECONDS] * 4)


@pytest.mark.parametrize(
    ("name", "deadlines", "fault"),
    [
        ("hang", replace(LONG, first_byte_seconds=0.2), CallFault.NO_FIRST_BYTE),
        ("keepalive_forever", replace(LONG, first_byte_seconds=0.2), CallFault.NO_FIRST_BYTE),
        ("keepalive_forever", replace(LONG, total_seconds=0.2), CallFault.DEADLINE),
        ("stall", replace(LONG, idle_seconds=0.2), CallFault.IDLE),
        ("drip", replace(LONG, total_seconds=0.3), CallFault.DEADLINE),
        ("thinking_forever", replace(LONG, thinking_seconds=0.2), CallFault.THINKING_TOO_LONG),
        ("blanks_forever", replace(LONG, thinking_seconds=0.2), CallFault.THINKING_TOO_LONG),
    ],
)
async def test_each_deadline_cuts_under_its_own_name(
    llm: LLMClient, model: ModelStandIn, name: str, deadlines: Deadlines, fault: CallFault
) -> None:
    model.script([FAULTS[name]])

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, deadlines)

    assert caught.value.fault is fault
    assert caught.value.seconds > 0.19


async def test_comments_in_mid_stream_do_not_count_as_data(llm: LLMClient, model: ModelStandIn) -> None:
    async def stream(_: ChatRequest) -> AsyncIterator[bytes]:
        yield b'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
        while True:
            yield b": keep-alive\n\n\n\nevent: ping\ndata: {}\n\n"
            await asyncio.sleep(0.02)

    model.script([lambda request: StreamingResponse(stream(request), headers=STREAM_HEADERS)])

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, replace(LONG, idle_seconds=0.2))

    assert caught.value.fault is CallFault.IDLE


async def test_a_healthy_stream_outlives_the_shorter_deadlines(llm: LLMClient, model: ModelStandIn) -> None:
    words = "".join(f"word{number} " for number in range(24))
    model.script([Answer(content=words, reasoning="", pause_seconds=0.3)])
    short = replace(LONG, first_byte_seconds=3, idle_seconds=3, thinking_seconds=3)

    completion = await llm.complete(REQUEST, short)

    assert completion.content == words
    assert completion.seconds > 3


async def test_a_finished_answer_is_not_lost_to_a_stream_that_does_not_close(
    llm: LLMClient, model: ModelStandIn
) -> None:
    async def stream(_: ChatRequest) -> AsyncIterator[bytes]:
        yield b'data: {"choices": [{"index": 0, "delta": {"content": "Hello!"}, "finish_reason": "stop"}]}\n\n'
        await asyncio.Event().wait()

    model.script([lambda request: StreamingResponse(stream(request), headers=STREAM_HEADERS)])

    async with asyncio.timeout(PATIENCE_SECONDS):
        completion = await llm.complete(REQUEST, LONG)

    assert (completion.content, completion.complete) == ("Hello!", True)


async def test_a_body_in_one_piece_waits_for_the_total_deadline_only(llm: LLMClient, model: ModelStandIn) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield b"\n"
            await asyncio.sleep(0.3)
        yield b'{"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]}'

    model.script([lambda _: StreamingResponse(body(), media_type="application/json")])

    completion = await llm.complete(REQUEST, replace(LONG, first_byte_seconds=2, idle_seconds=1, thinking_seconds=1))

    assert completion.content == "Hello!"


async def test_a_refusal_that_never_ends_is_cut_too(llm: LLMClient, model: ModelStandIn) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"error": '
        await asyncio.sleep(60)

    def respond(_: ChatRequest) -> Response:
        return StreamingResponse(body(), status_code=500, media_type="application/json")

    model.script([respond])

    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, replace(LONG, first_byte_seconds=0.2))

    assert caught.value.fault is CallFault.NO_FIRST_BYTE


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_cut_or_cancelled_call_hangs_up(llm: LLMClient, model: ModelStandIn, cancelled: bool) -> None:
    started, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def stream(_: ChatRequest) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b'data: {"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]}\n\n'
                loop.call_soon_threadsafe(started.set)
                await asyncio.sleep(0.02)
        finally:
            loop.call_soon_threadsafe(hung_up.set)

    model.script([lambda request: StreamingResponse(stream(request), headers=STREAM_HEADERS)])
    deadlines = LONG if cancelled else replace(LONG, thinking_seconds=0.1)

    call = asyncio.create_task(llm.complete(REQUEST, deadlines))
    await asyncio.wait_for(started.wait(), PATIENCE_SECONDS)
    if cancelled:
        call.cancel()
    with pytest.raises((asyncio.CancelledError, ModelCallFailed)):
        await call

    await asyncio.wait_for(hung_up.wait(), PATIENCE_SECONDS)


async def test_a_deadline_already_past_asks_nobody(llm: LLMClient, model: ModelStandIn) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        await llm.complete(REQUEST, replace(LONG, total_seconds=0))

    assert caught.value.fault is CallFault.DEADLINE
    assert model.requests == []
