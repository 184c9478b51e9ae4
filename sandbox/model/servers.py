"""Model servers as they are: each refuses what its kind refuses, in its own words, and answers all the rest.

`ModelStandIn.behave_as("ollama")` plays one in front of the stand-in's answers; over HTTP `{"server": "ollama"}`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.responses import Response

Refuses = Callable[[Mapping[str, Any]], Response | None]

WINDOW = 8192  # of the servers that have one; a token is taken for three characters
_CREDITS = "To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"
_ALTERNATE = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."


@dataclass(frozen=True)
class Server:
    """`refuses` gives the refusal of a request body, None when this server takes it."""

    name: str
    refuses: Refuses


def _json(status: int, body: Any) -> Response:
    return Response(orjson.dumps(body), status_code=status, media_type="application/json")


def _openai(message: str, param: str | None = None, code: str | None = "unsupported_parameter") -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return _json(400, {"error": error})


def _vllm(message: str) -> Response:
    return _json(400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400})


def _tokens(body: Mapping[str, Any]) -> int:
    return len(orjson.dumps([body["messages"], body.get("tools", [])]).decode()) // 3


def _roles(body: Mapping[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def _in_turns(roles: Sequence[str]) -> bool:
    return all(role == ("user", "assistant")[at % 2] for at, role in enumerate(roles))


def _gpt_5(body: Mapping[str, Any]) -> Response | None:
    """OpenAI itself, for an organization that is not verified."""
    if strangers := sorted({"reasoning", "provider", "session_id"} & body.keys()):
        return _openai(f"Unknown parameter: '{strangers[0]}'.", strangers[0], "unknown_parameter")
    if "max_tokens" in body:
        what = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return _openai(f"Unsupported parameter: {what}", "max_tokens")
    if body.get("temperature") not in (None, 1):
        what = f"'temperature' does not support {body['temperature']} with this model."
        only = "Only the default (1) value is supported."
        return _openai(f"Unsupported value: {what} {only}", "temperature", "unsupported_value")
    if body.get("stream"):
        return _openai("Your organization must be verified to stream this model.", "stream", "unsupported_value")
    return None


def _ollama(body: Mapping[str, Any]) -> Response | None:
    what = f"registry.ollama.ai/library/{body['model']} does not support tools"
    error = {"message": what, "type": "api_error", "param": None, "code": None}
    return _json(400, {"error": error}) if body.get("tools") else None


def _llama_cpp(body: Mapping[str, Any]) -> Response | None:
    """Started without templates."""
    error = {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}
    return _json(500, {"error": error}) if body.get("tools") else None


def _vllm_window(body: Mapping[str, Any]) -> Response | None:
    prompt, answer = _tokens(body), int(body.get("max_tokens", 0))
    if prompt + answer <= WINDOW:
        return None
    return _vllm(
        f"This model's maximum context length is {WINDOW} tokens. However, you requested {prompt + answer} tokens "
        f"({prompt} in the messages, {answer} in the completion). Please reduce the length."
    )


def _vllm_at_least(body: Mapping[str, Any]) -> Response | None:
    """Newer: it stops counting the prompt where the answer no longer fits."""
    prompt, answer = _tokens(body), int(body.get("max_tokens", 0))
    if prompt + answer <= WINDOW:
        return None
    least = WINDOW - answer + 1
    return _vllm(
        f"This model's maximum context length is {WINDOW} tokens. However, you requested {answer} output tokens and "
        f"your prompt contains at least {least} input tokens, for a total of at least {WINDOW + 1} tokens."
    )


def _vllm_no_parser(body: Mapping[str, Any]) -> Response | None:
    if body.get("tools") and body.get("tool_choice", "auto") == "auto":
        return _vllm('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    return None


def _poor(body: Mapping[str, Any], *, affordable: int) -> Response | None:
    """OpenRouter with a balance that is nearly spent."""
    asked = int(body.get("max_tokens", 65_536))
    what = f"You requested up to {asked} tokens, but can only afford {affordable}."
    message = f"This request requires more credits, or fewer max_tokens. {what} {_CREDITS}"
    refusal = {"error": {"message": message, "code": 402, "metadata": {"provider_name": None}}}
    return _json(402, refusal) if asked > affordable else None


def _gemma(body: Mapping[str, Any]) -> Response | None:
    """Gemma 2 on vLLM: neither tools nor a system role, and strictly in turns."""
    if refusal := _vllm_no_parser(body):
        return refusal
    if "system" in _roles(body):
        return _vllm("System role not supported")
    return None if _in_turns(_roles(body)) else _vllm("Conversation roles must alternate user/assistant/...")


def _mistral(body: Mapping[str, Any]) -> Response | None:
    """A template of Mistral's on vLLM: strictly in turns after the system message."""
    roles = _roles(body)
    talk = [role for role in roles[1:] if role != "tool"] if roles[0] == "system" else roles
    return None if _in_turns(talk) or "tool" in roles else _vllm(_ALTERNATE)


def _groq(body: Mapping[str, Any]) -> Response | None:
    if strangers := sorted({"reasoning", "provider", "session_id"} & body.keys()):
        return _openai(f"property '{strangers[0]}' is unsupported", code=None)
    for at, message in enumerate(body["messages"]):
        if field := next((name for name in ("reasoning", "reasoning_content") if name in message), ""):
            what = f"('messages.{at}' : property '{field}' is unsupported)"
            return _openai(f"'messages.{at}' : for 'role:assistant' the following must be satisfied[{what}]", code=None)
    most = 4096
    if int(body.get("max_tokens", 0)) > most:
        why = "the maximum value for `max_tokens` is less than the `context_window` for this model"
        return _openai(f"`max_tokens` must be less than or equal to `{most}`, {why}", "max_tokens", None)
    return None


def _tgi(body: Mapping[str, Any]) -> Response | None:
    """Its refusals of a stream come with a 200, as the first event."""
    prompt, answer = _tokens(body), int(body.get("max_tokens", 0))
    if prompt + answer <= WINDOW:
        return None
    given = f"Given: {prompt} `inputs` tokens and {answer} `max_new_tokens`"
    error = {"error": f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {WINDOW}. {given}"}
    data = orjson.dumps({**error, "error_type": "validation"})
    return Response(b"data: " + data + b"\n\n", media_type="text/event-stream")


def _deepseek_reasoner(body: Mapping[str, Any]) -> Response | None:
    if "tool_choice" in body:
        return _openai("deepseek-reasoner does not support this tool_choice", code="invalid_request_error")
    return None


SERVERS: Mapping[str, Server] = {
    server.name: server
    for server in (
        Server("gpt_5", _gpt_5),
        Server("ollama", _ollama),
        Server("llama_cpp", _llama_cpp),
        Server("vllm_window", _vllm_window),
        Server("vllm_at_least", _vllm_at_least),
        Server("vllm_no_parser", _vllm_no_parser),
        Server("poor", lambda body: _poor(body, affordable=1200)),
        Server("penniless", lambda body: _poor(body, affordable=120)),
        Server("gemma", _gemma),
        Server("mistral", _mistral),
        Server("groq", _groq),
        Server("tgi", _tgi),
        Server("deepseek_reasoner", _deepseek_reasoner),
    )
}
