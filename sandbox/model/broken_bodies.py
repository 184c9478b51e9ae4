"""Bodies that hold no answer, and connections that end or never do."""

import asyncio
from typing import Any

import orjson
from starlette.responses import Response

from sandbox.model.answers import NO_BODY_SECONDS, Answer, ChatRequest
from sandbox.model.fault import GOOD_TEXT, Fault, answer_fault, body_fault, endless_fault


def _hang(_: ChatRequest) -> Response:
    return _Silence()


class _Silence(Response):
    """Takes the request and says nothing, not even a status line."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - the ASGI signature
        async with asyncio.timeout(NO_BODY_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass


def _error_in_choice(request: ChatRequest) -> dict[str, Any]:
    error = {"code": 502, "message": "Provider returned error", "metadata": {"error_type": "provider_unavailable"}}
    choice = {"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": ""}, "error": error}
    return {"id": request.generation_id, "model": request.model, "choices": [choice]}


def _error_event(code: int, error_type: str) -> str:
    error = {"code": code, "message": "Provider returned error", "metadata": {"error_type": error_type}}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return orjson.dumps({"error": error, "choices": [choice]}).decode()


def _thinking_without_end() -> Fault:
    return endless_fault(
        "thinking_forever", "reasoning lock", {"reasoning": "Let me think again. "}, pause_seconds=0.02
    )


BODIES = [
    body_fault("null_choices", "choices missing", lambda request: {"id": request.generation_id, "choices": None}),
    body_fault("empty_choices", "choices missing", lambda request: {"id": request.generation_id, "choices": []}),
    body_fault(
        "error_in_200",
        "error in 200",
        lambda _: {"error": {"code": 429, "message": "slow down", "metadata": {"error_type": "rate_limit_exceeded"}}},
    ),
    body_fault("error_in_choice", "error in 200", _error_in_choice),
    body_fault("nested_in_provider", "shape", lambda request: {"provider": Answer(content=GOOD_TEXT).body(request)}),
    body_fault("ignores_stream", "shape", lambda request: Answer(content=GOOD_TEXT).body(request)),
    body_fault("malformed_json", "not JSON", lambda _: b'{"id": "gen-1", "choices": [{"message": {"content": "Hel'),
    Fault("html_200", "not JSON", lambda _: Response("<html><body>Sign in</body></html>", media_type="text/html")),
    answer_fault(
        "error_mid_stream",
        "error in stream",
        Answer(content="", events=[_error_event(502, "provider_unavailable")], usage={}, end="no_done"),
    ),
    answer_fault(
        "error_after_text",
        "error in stream",
        Answer(content="Здравствуйте! Кружка", events=[_error_event(502, "server")], usage={}, end="no_done"),
    ),
    answer_fault(
        "length_as_error",
        "budget eaten by thinking",
        Answer(content="", events=[_error_event(400, "max_tokens_exceeded")], usage={}, end="no_done"),
    ),
    answer_fault("broken_event", "not JSON", Answer(content="", events=['{"choices": [{"del'], usage={})),
]

TRANSPORT = [
    answer_fault("cut_stream", "stream cut", Answer(content="Здравствуйте! Кружка стоит 19", end="cut")),
    answer_fault("cut_before_text", "stream cut", Answer(content="", end="cut")),
    answer_fault("broken_connection", "stream cut", Answer(content="", end="break")),
    answer_fault("stall", "stream idle", Answer(content="Здравствуйте! Кружка", end="hang")),
    endless_fault("keepalive_forever", "no first byte", None, pause_seconds=0.02),
    Fault("hang", "no first byte", _hang),
    _thinking_without_end(),
    endless_fault("blanks_forever", "reasoning lock", {"content": ""}, pause_seconds=0.02),
    endless_fault("drip", "deadline", {"content": "ещё "}, pause_seconds=0.02),
    answer_fault("slow", "slow", Answer(content=GOOD_TEXT, comments=3, delay_seconds=1.0, pause_seconds=0.05)),
]
