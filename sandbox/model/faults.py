"""A catalogue of the ways a model or its server leaves a turn without usable text, each by name.

`row` is a short word for the kind of failure; `respond` makes the HTTP response to a request that passed the rules.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from sandbox.model.answers import (
    NO_BODY_SECONDS,
    STREAM_HEADERS,
    THOUGHT,
    Answer,
    ChatRequest,
    refused,
    tool_call,
)
from sandbox.model.rules import Refused

Respond = Callable[[ChatRequest], Response]
TAGS = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]"
GOOD_TEXT = f"Здравствуйте! Рада помочь с выбором.\n{TAGS}"


@dataclass(frozen=True)
class Fault:
    name: str
    row: str
    respond: Respond


def _answer(name: str, row: str, answer: Answer) -> Fault:
    return Fault(name, row, answer.response)


def _refusal(name: str, row: str, why: Refused) -> Fault:
    return Fault(name, row, lambda _: refused(why))


def _body(name: str, row: str, make: Callable[[ChatRequest], Any]) -> Fault:
    """A 200 with a body of its own, not streamed even if that was asked for: a bare body or bytes."""

    def respond(request: ChatRequest) -> Response:
        body = make(request)
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        return Response(raw, headers={"content-type": "application/json", "x-generation-id": request.generation_id})

    return Fault(name, row, respond)


def _endless(name: str, row: str, delta: Mapping[str, Any] | None, *, pause_seconds: float) -> Fault:
    """The same delta, or with `None` a comment, until the other side hangs up."""

    async def stream(request: ChatRequest) -> AsyncIterator[bytes]:
        while True:
            body = {"id": request.generation_id, "model": request.model, "choices": [{"index": 0, "delta": delta}]}
            yield b": keep-alive\n\n" if delta is None else b"data: " + orjson.dumps(body) + b"\n\n"
            await asyncio.sleep(pause_seconds)

    return Fault(name, row, lambda request: StreamingResponse(stream(request), headers=STREAM_HEADERS))


def _hang(_: ChatRequest) -> Response:
    return _Silence()


class _Silence(Response):
    """Takes the request and says nothing, not even a status line."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - the ASGI signature
        async with asyncio.timeout(NO_BODY_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass


def _prompt_leak(request: ChatRequest) -> Response:
    return Answer(content=request.system[:800] or "You are a helpful assistant.").response(request)


def _stage_echo(request: ChatRequest) -> Response:
    """Recites the middle of its instructions."""
    middle = len(request.system) // 2
    return Answer(content=request.system[middle : middle + 600] or "You are a helpful assistant.").response(request)


def _kick_echo(request: ChatRequest) -> Response:
    note = request.customer.splitlines()[-1] if request.customer else "answer the customer now"
    text = f"Sorry, my previous reply was empty. The note says: {note} Here is the answer: yes, of course.\n{TAGS}"
    return Answer(content=text).response(request)


def _same_call(request: ChatRequest) -> Response:
    call = tool_call("search_knowledge", {"query": "кружка"}, call_id=f"call_{request.number}")
    return Answer(tool_calls=[call], finish_reason="tool_calls").response(request)


def _call_on_last_step(request: ChatRequest) -> Response:
    """Calls tools whatever it was told, with `tool_choice: none` and even without tools."""
    call = tool_call("search_knowledge", {"query": f"кружка {request.number}"}, call_id=f"call_{request.number}")
    return Answer(tool_calls=[call], finish_reason="tool_calls").response(request)


def _error_in_choice(request: ChatRequest) -> dict[str, Any]:
    error = {"code": 502, "message": "Provider returned error", "metadata": {"error_type": "provider_unavailable"}}
    choice = {"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": ""}, "error": error}
    return {"id": request.generation_id, "model": request.model, "choices": [choice]}


def _error_event(code: int, error_type: str) -> str:
    error = {"code": code, "message": "Provider returned error", "metadata": {"error_type": error_type}}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return orjson.dumps({"error": error, "choices": [choice]}).decode()


def _thinking_without_end() -> Fault:
    return _endless("thinking_forever", "reasoning lock", {"reasoning": "Let me think again. "}, pause_seconds=0.02)


_SEARCH = tool_call("search_knowledge", {"query": "кружка"})
_DSML = (
    "<｜DSML｜function_calls>\n"
    '<｜DSML｜invoke name="search_knowledge">\n<｜DSML｜parameter name="query" string="true">кружка'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)
_MONOLOGUE = (
    "The user wants to know about mugs. I need to check the catalogue first. Let me think about which stage applies: "
    "stage 3, so I should call search_knowledge before I answer the customer."
)
_CHINESE = "好的，我来看看目录里的杯子，然后回复客户。请稍等一下，我正在查找价格和库存信息。"
_GARBLE = (
    "Здравствуйте 响应 кружка ‑ ация the 回复 цена цена ロ ация of керам 您好 ика ика ика 的的的 stock ация ация ロロ"
)
_LOCK = Answer(content="", reasoning=THOUGHT * 8)

_SILENT = [
    _answer("reasoning_lock", "reasoning lock", _LOCK),
    _answer("reasoning_lock_content", "reasoning lock", replace(_LOCK, reasoning_field="reasoning_content")),
    _answer("length_lock", "budget eaten by thinking", replace(_LOCK, finish_reason="length")),
    _answer("true_empty", "true empty", Answer(reasoning="", usage={"prompt_tokens": 900, "completion_tokens": 0})),
    _answer("empty_few_tokens", "empty after tools", Answer(reasoning="", usage={"completion_tokens": 3})),
    _answer("null_content", "true empty", Answer(content=None, reasoning="")),
    _answer("whitespace", "whitespace only", Answer(content=" \n\n \t\u00a0\n")),
    _answer("zero_width", "zero-width only", Answer(content="\u200b\u2060\ufeff\u200d\u00ad")),
    _answer("blank_letters", "zero-width only", Answer(content="\u2800\u3164\u115f\uffa0")),
    _answer("tags_only", "tags only", Answer(content=TAGS)),
    _answer("think_tags_only", "tags only", Answer(content="<think>He asks for a mug.</think>", reasoning="")),
    _answer("fences_only", "markup only", Answer(content="```\n```")),
    _answer("punctuation_only", "markup only", Answer(content="**---**")),
    _answer("unclosed_think", "unclosed think", Answer(content="<think>The customer wants a mug, so", reasoning="")),
    _answer("finish_tool_calls_empty", "no calls", Answer(content="", finish_reason="tool_calls")),
    _answer(
        "malformed_function_call",
        "malformed function call",
        Answer(content=None, reasoning="", native_finish_reason="MALFORMED_FUNCTION_CALL"),
    ),
    _answer("content_filter", "content filter", Answer(content="", reasoning="", finish_reason="content_filter")),
    _answer("refusal_field", "refusal", Answer(content=None, refusal="I'm sorry, I can't help with that.")),
    _answer("draft_in_reasoning", "draft in reasoning", replace(_LOCK, reasoning=f"{THOUGHT}\nDraft: {GOOD_TEXT}")),
    _answer("wrong_bucket", "wrong bucket", Answer(content="", reasoning=GOOD_TEXT)),
    _answer("filler_collapse", "filler collapse", Answer(reasoning="", usage={"completion_tokens": 30})),
    _answer("obeyed_silence", "ordered silence", Answer(reasoning="", usage={"completion_tokens": 1})),
]

_UNFIT = [
    _answer("orphan_think", "orphan think", Answer(content=f"He wants a mug.</think>{GOOD_TEXT}", reasoning="")),
    _answer("balanced_think", "balanced think", Answer(content=f"<think>A mug.</think>\n{GOOD_TEXT}", reasoning="")),
    _answer("no_tags", "tags forgotten", Answer(content="Здравствуйте! Рада помочь с выбором.")),
    _answer("cut_by_length", "text cut", Answer(content="Здравствуйте! Кружка стоит 19", finish_reason="length")),
    _answer("dsml", "tool syntax", Answer(content=_DSML)),
    _answer("dsml_ascii", "tool syntax", Answer(content=_DSML.replace("｜", "|"))),
    _answer(
        "tool_syntax_xml",
        "tool syntax",
        Answer(content='<tool_call>\n{"name": "search_knowledge", "arguments": {"query": "кружка"}}\n</tool_call>'),
    ),
    _answer("function_tag", "tool syntax", Answer(content="<function=search_knowledge>{}</function>")),
    _answer(
        "bare_json_call",
        "tool syntax",
        Answer(content='{"name": "search_knowledge", "arguments": {"query": "кружка"}}'),
    ),
    _answer("announces_tool", "announces a tool", Answer(content="Секунду, сейчас посмотрю в каталоге и вернусь.")),
    _answer("refusal_text", "refusal", Answer(content="I'm sorry, but as an AI language model I can't assist.")),
    Fault("prompt_leak", "prompt echo", _prompt_leak),
    Fault("kick_apology", "kick echo", _kick_echo),
    _answer("sentinel", "sentinel", Answer(content="(empty)")),
    _answer("no_reply", "sentinel", Answer(content="NO_REPLY")),
    _answer("error_text", "sentinel", Answer(content="Error code: 429 - {'error': {'message': 'Rate limit'}}")),
    _answer("monologue", "monologue", Answer(content=_MONOLOGUE)),
    _answer("loop", "loop", Answer(content="Конечно, подскажу вам. " * 120)),
    _answer("chinese_garble", "garbled", Answer(content=_GARBLE)),
    _answer("wrong_language", "wrong language", Answer(content=_CHINESE)),
    Fault("stage_leak", "prompt echo", _stage_echo),
    _answer("null_word", "markup only", Answer(content="null")),
    _answer("object_wrapper", "json wrapper", Answer(content='{"data": null, "success": true}')),
    _answer(
        "json_wrapper",
        "json wrapper",
        Answer(content=orjson.dumps({"reply": GOOD_TEXT}).decode()),
    ),
    _answer("content_parts", "shape", Answer(content=[{"type": "text", "text": GOOD_TEXT}])),
    _answer("no_finish_reason", "shape", Answer(content=GOOD_TEXT, finish_reason=None)),
]

_CALLS = [
    Fault("call_on_last_step", "call on the last step", _call_on_last_step),
    Fault("same_call_repeated", "same call repeated", _same_call),
    _answer(
        "bad_arguments",
        "bad arguments",
        Answer(tool_calls=[tool_call("search_knowledge", '{"query": "кру')], finish_reason="tool_calls"),
    ),
    _answer(
        "missing_arguments",
        "bad arguments",
        Answer(
            tool_calls=[{"id": "call_a1", "type": "function", "function": {"name": "search_knowledge"}}],
            finish_reason="tool_calls",
        ),
    ),
    _answer(
        "unknown_tool",
        "unknown tool",
        Answer(tool_calls=[tool_call("book_a_table", {"people": 2})], finish_reason="tool_calls"),
    ),
    _answer("calls_with_stop", "shape", Answer(tool_calls=[_SEARCH], finish_reason="stop")),
    _answer(
        "call_ids_missing",
        "shape",
        Answer(
            tool_calls=[{**_SEARCH, "id": None}, {**tool_call("search_knowledge", {"query": "курс"}), "id": ""}],
            finish_reason="tool_calls",
        ),
    ),
    _answer(
        "call_emitted_again",
        "shape",
        Answer(
            finish_reason="tool_calls",
            tool_calls=[_SEARCH],
            deltas=[
                {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **_SEARCH}]},
                {"tool_calls": [{"index": 0, "id": "call_a1", "function": {"arguments": " "}}]},
                {"tool_calls": [{"index": 1, "function": {"arguments": "\n"}}]},
            ],
        ),
    ),
]

_BODIES = [
    _body("null_choices", "choices missing", lambda request: {"id": request.generation_id, "choices": None}),
    _body("empty_choices", "choices missing", lambda request: {"id": request.generation_id, "choices": []}),
    _body(
        "error_in_200",
        "error in 200",
        lambda _: {"error": {"code": 429, "message": "slow down", "metadata": {"error_type": "rate_limit_exceeded"}}},
    ),
    _body("error_in_choice", "error in 200", _error_in_choice),
    _body("nested_in_provider", "shape", lambda request: {"provider": Answer(content=GOOD_TEXT).body(request)}),
    _body("ignores_stream", "shape", lambda request: Answer(content=GOOD_TEXT).body(request)),
    _body("malformed_json", "not JSON", lambda _: b'{"id": "gen-1", "choices": [{"message": {"content": "Hel'),
    Fault("html_200", "not JSON", lambda _: Response("<html><body>Sign in</body></html>", media_type="text/html")),
    _answer(
        "error_mid_stream",
        "error in stream",
        Answer(content="", events=[_error_event(502, "provider_unavailable")], usage={}, end="no_done"),
    ),
    _answer(
        "error_after_text",
        "error in stream",
        Answer(content="Здравствуйте! Кружка", events=[_error_event(502, "server")], usage={}, end="no_done"),
    ),
    _answer(
        "length_as_error",
        "budget eaten by thinking",
        Answer(content="", events=[_error_event(400, "max_tokens_exceeded")], usage={}, end="no_done"),
    ),
    _answer("broken_event", "not JSON", Answer(content="", events=['{"choices": [{"del'], usage={})),
]

_TRANSPORT = [
    _answer("cut_stream", "stream cut", Answer(content="Здравствуйте! Кружка стоит 19", end="cut")),
    _answer("cut_before_text", "stream cut", Answer(content="", end="cut")),
    _answer("broken_connection", "stream cut", Answer(content="", end="break")),
    _answer("stall", "stream idle", Answer(content="Здравствуйте! Кружка", end="hang")),
    _endless("keepalive_forever", "no first byte", None, pause_seconds=0.02),
    Fault("hang", "no first byte", _hang),
    _thinking_without_end(),
    _endless("blanks_forever", "reasoning lock", {"content": ""}, pause_seconds=0.02),
    _endless("drip", "deadline", {"content": "ещё "}, pause_seconds=0.02),
    _answer("slow", "slow", Answer(content=GOOD_TEXT, comments=3, delay_seconds=1.0, pause_seconds=0.05)),
]

_REFUSALS = [
    _refusal("400", "bad request", Refused(400, "Provider returned error")),
    _refusal(
        "400_reasoning_mandatory",
        "mandatory thinking",
        Refused(400, "Reasoning is mandatory for this endpoint and cannot be disabled."),
    ),
    _refusal("400_system_not_first", "history fault", Refused(400, "System message must be at the beginning.")),
    _refusal("400_empty_content", "history fault", Refused(400, "messages: text content blocks must be non-empty")),
    _refusal("400_prefill", "history fault", Refused(400, "Assistant response prefill is incompatible with thinking")),
    _refusal("400_tools_missing", "history fault", Refused(400, "`tools` must be set when messages hold tool calls")),
    _refusal("422", "bad request", Refused(422, "Unprocessable Entity", "")),
    _refusal(
        "400_reasoning_lost",
        "history fault",
        Refused(400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
    ),
    _refusal("401", "account", Refused(401, "User not found.", "")),
    _refusal("402", "account", Refused(402, "This request requires more credits, or fewer max_tokens.", "")),
    _refusal("403_moderation", "moderation", Refused(403, "flagged", "", {"reasons": ["x"], "flagged_input": "y"})),
    _refusal("403_key", "account", Refused(403, "Key limit exceeded", "")),
    _refusal("404_model", "not found", Refused(404, "No endpoints found for sandbox/unknown.", "")),
    _refusal(
        "404_tool_choice",
        "parameter not supported",
        Refused(404, "No endpoints found that support the provided 'tool_choice' value.", ""),
    ),
    _refusal(
        "429",
        "capacity",
        Refused(429, "Rate limit exceeded", "rate_limit_exceeded", headers={"retry-after": "2"}),
    ),
    _refusal("500", "capacity", Refused(500, "Internal Server Error", "server")),
    Fault(
        "502_html",
        "capacity",
        lambda _: Response("<html><h1>502 Bad Gateway</h1></html>", status_code=502, media_type="text/html"),
    ),
    _refusal("503", "capacity", Refused(503, "overloaded", "provider_overloaded", headers={"retry-after": "1"})),
    _refusal("408", "capacity", Refused(408, "Request timed out", "timeout")),
    _refusal("524", "capacity", Refused(524, "A timeout occurred", "")),
    _refusal("529", "capacity", Refused(529, "Overloaded", "")),
    _refusal("413", "context overflow", Refused(413, "Payload Too Large", "")),
    _refusal(
        "context_overflow",
        "context overflow",
        Refused(400, "This endpoint's maximum context length is 8192 tokens.", "context_length_exceeded"),
    ),
]

FAULTS: Mapping[str, Fault] = {
    fault.name: fault for group in (_SILENT, _UNFIT, _CALLS, _BODIES, _TRANSPORT, _REFUSALS) for fault in group
}
