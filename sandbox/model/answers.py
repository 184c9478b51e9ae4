"""Answers of the model's stand-in: one description, spoken as JSON or as a stream, flaws included."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sandbox.model.rules import Refused, text_of

THOUGHT = "The customer has written. I look at what the studio knows and choose warm, plain words."
STREAM_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
NO_BODY_SECONDS = 600.0

End = Literal["done", "no_done", "cut", "break", "hang"]


@dataclass(frozen=True)
class ChatRequest:
    """A request that passed the rules: its body, its number (from 1), and the HTTP request it came in."""

    body: Mapping[str, Any]
    number: int
    http: Request

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        first = self.messages[0]
        return text_of(first.get("content")) if first["role"] == "system" else ""

    @property
    def customer(self) -> str:
        """All user text since the last assistant message that was said aloud."""
        texts: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "assistant" and not message.get("tool_calls"):
                break
            if message["role"] == "user":
                texts.append(text_of(message.get("content")))
        return "\n".join(reversed(texts))

    @property
    def may_call_tools(self) -> bool:
        return bool(self.body.get("tools")) and self.body.get("tool_choice") != "none"

    @property
    def generation_id(self) -> str:
        return f"gen-sandbox-{self.number:06d}"


@dataclass(frozen=True)
class Answer:
    """One answer. Seconds are waited before the first data and between deltas; `end` is how a stream ends:
    `cut` closes it properly but unfinished, `break` loses the connection, `hang` never ends.

    `usage` replaces the counted tokens, `{}` leaves them out; `deltas` replaces the deltas a stream would have;
    `events` are sent raw, after the deltas and in place of the finish.
    """

    content: Any = ""
    reasoning: str = THOUGHT
    reasoning_field: str = "reasoning"
    tool_calls: Sequence[Mapping[str, Any]] = ()
    refusal: str | None = None
    finish_reason: str | None = "stop"
    native_finish_reason: str | None = None
    provider: str = "Sandbox"
    usage: Mapping[str, Any] | None = None
    delay_seconds: float = 0.0
    pause_seconds: float = 0.0
    comments: int = 0
    deltas: Sequence[Mapping[str, Any]] | None = None
    events: Sequence[str] = ()
    end: End = "done"

    def response(self, request: ChatRequest) -> Response:
        headers = {"x-generation-id": request.generation_id}
        if request.streamed:
            return StreamingResponse(self._stream(request), headers=STREAM_HEADERS | headers)
        return StreamingResponse(self._whole(request), headers={"content-type": "application/json"} | headers)

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """The answer in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        if self.reasoning:
            message[self.reasoning_field] = self.reasoning
        if self.tool_calls:
            message["content"] = self.content or None
            message["tool_calls"] = list(self.tool_calls)
        choice = {
            "index": 0,
            "finish_reason": self.finish_reason,
            "native_finish_reason": self.native_finish_reason or self.finish_reason,
            "message": message,
        }
        body = self._labels(request) | {"object": "chat.completion", "choices": [choice]}
        return body if self._usage(request) is None else body | {"usage": self._usage(request)}

    def _labels(self, request: ChatRequest) -> dict[str, Any]:
        return {
            "id": request.generation_id,
            "model": request.model,
            "provider": self.provider,
            "created": 1_767_225_600 + request.number,
        }

    def _usage(self, request: ChatRequest) -> dict[str, Any] | None:
        if self.usage is not None:
            return dict(self.usage) or None
        prompt = sum(len(text_of(message.get("content"))) for message in request.messages) // 4
        thoughts = -(-len(self.reasoning) // 4)
        written = -(-len(text_of(self.content)) // 4) + 12 * len(self.tool_calls)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": thoughts + written,
            "total_tokens": prompt + thoughts + written,
            "prompt_tokens_details": {"cached_tokens": prompt // 2},
            "completion_tokens_details": {"reasoning_tokens": thoughts},
            "cost": round((prompt + 4 * (thoughts + written)) * 1e-7, 8),
        }

    async def _whole(self, request: ChatRequest) -> AsyncIterator[bytes]:
        await asyncio.sleep(self.delay_seconds)
        data = orjson.dumps(self.body(request))
        if self.end in ("cut", "break"):
            yield data[: len(data) // 2]
            if self.end == "break":
                raise ConnectionAbortedError("the connection is lost on purpose")
        else:
            yield data
            if self.end == "hang":
                await asyncio.sleep(NO_BODY_SECONDS)

    async def _stream(self, request: ChatRequest) -> AsyncIterator[bytes]:
        for _ in range(self.comments):
            yield b": OPENROUTER PROCESSING\n\n"
        await asyncio.sleep(self.delay_seconds)
        for delta in self._deltas() if self.deltas is None else self.deltas:
            yield self._event(request, delta)
            if self.pause_seconds:
                await asyncio.sleep(self.pause_seconds)
        for event in self.events:
            yield f"data: {event}\n\n".encode()
        if self.end == "hang":
            await asyncio.sleep(NO_BODY_SECONDS)
        if self.end == "break":
            raise ConnectionAbortedError("the connection is lost on purpose")
        if self.end == "cut":
            return
        if not self.events:
            yield self._event(request, {}, finished=True)
        if (usage := self._usage(request)) is not None:
            yield b"data: " + orjson.dumps(self._labels(request) | {"choices": [], "usage": usage}) + b"\n\n"
        if self.end == "done":
            yield b"data: [DONE]\n\n"

    def _deltas(self) -> list[dict[str, Any]]:
        """A role, the thoughts, the text in pieces of a few letters, the calls in halves."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": "", self.reasoning_field: piece} for piece in pieces(self.reasoning)]
        if isinstance(self.content, str):
            deltas += [{"content": piece} for piece in pieces(self.content)]
        elif self.content:
            deltas.append({"content": self.content})
        if self.refusal:
            deltas.append({"refusal": self.refusal})
        for index, call in enumerate(self.tool_calls):
            function = call.get("function", {})
            arguments = function.get("arguments")
            if not isinstance(arguments, str):
                deltas.append({"tool_calls": [{"index": index, **call}]})
                continue
            half = len(arguments) // 2
            first = {**call, "function": {**function, "arguments": arguments[:half]}}
            deltas.append({"tool_calls": [{"index": index, **first}]})
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
        return deltas

    def _event(self, request: ChatRequest, delta: Mapping[str, Any], *, finished: bool = False) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": None, "native_finish_reason": None}
        if finished:
            choice["finish_reason"] = self.finish_reason
            choice["native_finish_reason"] = self.native_finish_reason or self.finish_reason
        body = self._labels(request) | {"object": "chat.completion.chunk", "choices": [choice]}
        return b"data: " + orjson.dumps(body) + b"\n\n"


def tool_call(name: str, arguments: Any, *, call_id: str = "call_a1") -> dict[str, Any]:
    """A call as servers write it; `arguments` that are not text are dumped."""
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def pieces(text: str, size: int = 12) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def refused(why: Refused) -> Response:
    return Response(
        orjson.dumps(why.body()),
        status_code=why.status,
        headers={"content-type": "application/json", "x-generation-id": "gen-sandbox-refused", **why.headers},
    )
