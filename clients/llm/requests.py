"""A request to the model, and the body it becomes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

# Fields that a server may refuse to know without the request losing its sense.
ROUTER_FIELDS: Final = frozenset({"reasoning", "provider", "session_id", "user"})
OPTIONAL_FIELDS: Final = ROUTER_FIELDS | {"parallel_tool_calls", "stream_options"}


@dataclass(frozen=True)
class ModelRequest:
    """`thinking` is "default" (the server decides), "off", or an effort such as "low" or "high".

    `messages` and `tools` go out as they are. `tool_choice` means something only with `tools`. `session_id` keeps one
    conversation on one provider's cache; `user` is an opaque label, never a real id.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | None = None
    max_tokens: int = 8000
    temperature: float | None = None
    thinking: str = "default"
    provider: Mapping[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    user: str | None = None

    def body(self, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The JSON body, streamed; `without` names optional fields to leave out."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(self.messages),
            "max_tokens": self.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.tools:
            body["tools"] = list(self.tools)
            if self.tool_choice is not None:
                body["tool_choice"] = self.tool_choice
            if self.tool_choice != "none":
                body["parallel_tool_calls"] = True
        if self.thinking == "off":
            body["reasoning"] = {"enabled": False}
        elif self.thinking != "default":
            body["reasoning"] = {"effort": self.thinking}
        if self.provider:
            body["provider"] = dict(self.provider)
        if self.session_id:
            body["session_id"] = self.session_id
        if self.user:
            body["user"] = self.user
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return {key: value for key, value in body.items() if key not in without}


def encode(body: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8; a lone half of an emoji, which a customer's phone can send, becomes a question mark."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
