"""One way in which a model or its server fails, and how to make one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from sandbox.model.answers import STREAM_HEADERS, Answer, ChatRequest, refused
from sandbox.model.rules import Refused

Respond = Callable[[ChatRequest], Response]
TAGS = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]"
GOOD_TEXT = f"Здравствуйте! Рада помочь с выбором.\n{TAGS}"


@dataclass(frozen=True)
class Fault:
    """`row` is a short word for the kind; `respond` answers a request that passed the rules."""

    name: str
    row: str
    respond: Respond


def answer_fault(name: str, row: str, answer: Answer) -> Fault:
    return Fault(name, row, answer.response)


def refusal_fault(name: str, row: str, why: Refused) -> Fault:
    return Fault(name, row, lambda _: refused(why))


def body_fault(name: str, row: str, make: Callable[[ChatRequest], Any]) -> Fault:
    """A 200 with a body of its own, not streamed even if that was asked for: a bare body or bytes."""

    def respond(request: ChatRequest) -> Response:
        body = make(request)
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        return Response(raw, headers={"content-type": "application/json", "x-generation-id": request.generation_id})

    return Fault(name, row, respond)


def endless_fault(name: str, row: str, delta: Mapping[str, Any] | None, *, pause_seconds: float) -> Fault:
    """The same delta, or with `None` a comment, until the other side hangs up."""

    async def stream(request: ChatRequest) -> AsyncIterator[bytes]:
        while True:
            body = {"id": request.generation_id, "model": request.model, "choices": [{"index": 0, "delta": delta}]}
            yield b": keep-alive\n\n" if delta is None else b"data: " + orjson.dumps(body) + b"\n\n"
            await asyncio.sleep(pause_seconds)

    return Fault(name, row, lambda request: StreamingResponse(stream(request), headers=STREAM_HEADERS))
