"""What real chat-completions servers refuse, refused here too: each rule was met at some provider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ROLES = ("system", "user", "assistant", "tool")
TOOL_CHOICES = ("none", "auto", "required")
REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details")


@dataclass(frozen=True)
class Refused:
    """An error answer in OpenRouter's form."""

    status: int
    message: str
    error_type: str = "invalid_prompt"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        metadata = {"error_type": self.error_type, **self.metadata} if self.error_type else dict(self.metadata)
        return {"error": {"code": self.status, "message": self.message, "metadata": metadata}}


def refusal_of(body: Any) -> Refused | None:
    """Why a real server would not take this request body, or `None`."""
    if not isinstance(body, Mapping):
        return Refused(400, "the body is not a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        return Refused(400, "No models provided")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return Refused(400, "Input required: specify 'messages'")
    max_tokens = body.get("max_tokens")
    if max_tokens is not None and (not isinstance(max_tokens, int) or max_tokens < 1):
        return Refused(400, "max_tokens must be at least 1")
    choice = body.get("tool_choice")
    if choice is not None and not (choice in TOOL_CHOICES or isinstance(choice, Mapping)):
        return Refused(404, "No endpoints found that support the provided 'tool_choice' value", "")
    return _refusal_of_messages(messages, body)


def _refusal_of_messages(messages: Sequence[Any], body: Mapping[str, Any]) -> Refused | None:
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            return Refused(400, f"messages.{number}: unknown role")
        if message["role"] == "system" and number > 0:
            return Refused(400, "System message must be at the beginning.")
        if refused := _refusal_of_content(number, message):
            return refused
    if messages[-1]["role"] == "assistant":
        return Refused(400, "Assistant response prefill is incompatible with enable_thinking")
    uses_tools = any(message["role"] == "tool" or message.get("tool_calls") for message in messages)
    if uses_tools and not body.get("tools"):
        return Refused(400, "`tools` must be set when messages hold tool calls or tool results")
    return _refusal_of_tool_turns(messages) or _refusal_of_lost_reasoning(messages, body)


def _refusal_of_content(number: int, message: Mapping[str, Any]) -> Refused | None:
    content = message.get("content")
    calls = message.get("tool_calls")
    if content is None and calls:
        return None
    if content is not None and not isinstance(content, str | list):
        return Refused(400, f"messages.{number}: content must be a string or a list of parts")
    if not text_of(content).strip() and message["role"] != "tool":
        return Refused(400, f"messages.{number}: text content must be non-empty")
    return None


def _refusal_of_tool_turns(messages: Sequence[Mapping[str, Any]]) -> Refused | None:
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return Refused(400, f"messages.{number}: tool_call_id answers no call before it")
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return Refused(
                400, "an assistant message with tool_calls must be followed by a result for each tool_call_id"
            )
        ids = [call.get("id") for call in message.get("tool_calls") or ()]
        if not all(isinstance(call_id, str) and call_id for call_id in ids) or len(set(ids)) < len(ids):
            return Refused(400, f"messages.{number}: tool_call_id empty or repeated")
        waiting.update(ids)
    if waiting:
        return Refused(400, "an assistant message with tool_calls must be followed by a result for each tool_call_id")
    return None


def _refusal_of_lost_reasoning(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> Refused | None:
    """DeepSeek wants back what it thought before a tool call, while thinking is on."""
    reasoning = body.get("reasoning")
    thinks = not (isinstance(reasoning, Mapping) and reasoning.get("enabled") is False)
    if not body["model"].startswith("deepseek/") or not thinks:
        return None
    for message in messages:
        if message.get("tool_calls") and not message.keys() & set(REASONING_FIELDS):
            return Refused(400, "The `reasoning_content` in the thinking mode must be passed back to the API.")
    return None


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
