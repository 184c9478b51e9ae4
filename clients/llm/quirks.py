"""What one model at its server takes and what it does not, as far as its refusals have told, and requests to match."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from clients.llm.requests import ModelRequest, encode
from clients.llm.token_limits import TokenLimits

LEAST_ANSWER_TOKENS: Final = 256  # fewer hold no reply to a customer
THOUGHTS: Final = ("reasoning", "reasoning_content", "reasoning_details")
MOST_TOKENS_PER_BYTE: Final = 0.5
# What is no property of a server is asked anew after ten minutes: a balance, and which endpoints a router has just now.
PASSING_MS: Final = 600_000
LIMIT_NAMES: Final = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class ModelQuirks:
    """Nothing is known of a model at first: it gets what any OpenAI-compatible server takes.

    `window` is in tokens, prompt and answer together; of them the server counted `counted` for the messages and tools
    of the request that was too long, which had `counted_bytes`. `most_tokens` is the longest answer. 0: not known.
    """

    without: frozenset[str] = frozenset()  # optional fields that it refuses
    limit_name: str = "max_tokens"  # "": it knows neither name
    most_tokens: int = 0
    window: int = 0
    counted: int = 0
    counted_bytes: int = 1
    affordable: int = 0  # tokens of an answer, until then
    affordable_until_ms: int = 0
    no_tools_until_ms: float = 0.0
    takes_tool_choice: bool = True
    takes_temperature: bool = True
    takes_system: bool = True
    takes_thoughts: bool = True  # those of an earlier step, sent back
    streams: bool = True
    alternates: bool = False
    must_think: bool = False

    def takes_tools(self, *, now_ms: int) -> bool:
        return now_ms >= self.no_tools_until_ms

    def fit(self, request: ModelRequest, *, now_ms: int) -> ModelRequest:
        """The request without the fields that this model does not grant; the same again for one that fits already."""
        fitting = request
        if not self.takes_tools(now_ms=now_ms) and request.tools:
            fitting = replace(fitting, tools=(), tool_choice=None)
        if not self.takes_tool_choice and request.tool_choice is not None:
            fitting = replace(fitting, tool_choice=None)
        if not self.takes_temperature and request.temperature is not None:
            fitting = replace(fitting, temperature=None)
        if self.must_think and request.thinking == "off":
            fitting = replace(fitting, thinking="default")
        limit = self._limit(fitting, now_ms)
        return fitting if limit == fitting.max_tokens else replace(fitting, max_tokens=limit)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The JSON body of a request that fits, in this server's dialect."""
        body = request.body(without=self.without)
        if self.limit_name != "max_tokens":
            limit = body.pop("max_tokens")
            if self.limit_name:
                body[self.limit_name] = limit
        if not self.streams:
            body["stream"] = False
            body.pop("stream_options", None)
        if not (self.takes_system and self.takes_thoughts) or self.alternates:
            body["messages"] = self._messages(body["messages"])
        return body

    def after_limit_name(self, refused: str) -> "ModelQuirks | None":
        """For a server that does not know the name `refused`; None when it was sent none."""
        if not refused:
            return None
        further = LIMIT_NAMES[LIMIT_NAMES.index(refused) + 1 :]
        return replace(self, limit_name=next(iter(further), "")) if self.limit_name == refused else self

    def with_token_limits(self, told: TokenLimits, request: ModelRequest, *, now_ms: int) -> "ModelQuirks | None":
        """After this request was refused for what its answer may have; None when a shorter one would be no reply."""
        limit, learned = request.max_tokens, self
        until_ms = now_ms + PASSING_MS
        if told.most:
            learned = replace(self, most_tokens=told.most)
        elif told.window:
            size = _size_of(request)
            if told.prompt and told.window - told.prompt < LEAST_ANSWER_TOKENS:
                return None  # it is the prompt that is too long
            # Where the server does not say what it counted, three bytes are taken for a token, which is rather too
            # many tokens than too few (English has four, Russian four to six), and half of the answer for enough.
            counted = told.prompt or told.window - min(told.window - size // 3, limit // 2)
            learned = replace(self, window=told.window, counted=counted, counted_bytes=size)
        elif told.excess:
            learned = replace(self, affordable=limit - told.excess, affordable_until_ms=until_ms)
        else:
            affordable = limit // 2 if told.affordable is None else told.affordable
            learned = replace(self, affordable=affordable, affordable_until_ms=until_ms)
        after = learned._limit(request, now_ms)
        return learned if LEAST_ANSWER_TOKENS <= after < limit else None

    def _limit(self, request: ModelRequest, now_ms: int) -> int:
        limits = [request.max_tokens]
        if self.most_tokens:
            limits.append(self.most_tokens)
        if now_ms < self.affordable_until_ms:
            limits.append(self.affordable)
        if self.window:
            limits.append(max(self._tokens_left_for(request), min(LEAST_ANSWER_TOKENS, request.max_tokens)))
        return min(limits)

    def _tokens_left_for(self, request: ModelRequest) -> int:
        """What the window leaves for the answer, by what the server counted for the one that was refused."""
        more_bytes = _size_of(request) - self.counted_bytes
        density = min(self.counted / self.counted_bytes, MOST_TOKENS_PER_BYTE)
        spare = 1.1 if more_bytes > 0 else 0.9  # other words may split into more tokens
        return self.window - self.counted - math.ceil(more_bytes * density * spare)

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        changed = [dict(message) for message in messages]
        if not self.takes_thoughts:
            changed = [{k: v for k, v in message.items() if k not in THOUGHTS} for message in changed]
        if not self.takes_system:
            changed = [{**m, "role": "user"} if m["role"] == "system" else m for m in changed]
        return in_turns(changed) if self.alternates or not self.takes_system else changed


def in_turns(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adjacent texts of one side as one, and the user first (after the system message): strict templates want both."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        last = turns[-1] if turns else {}
        texts = (last.get("content"), message.get("content"))
        plain = not (last.get("tool_calls") or message.get("tool_calls")) and all(isinstance(t, str) for t in texts)
        if message["role"] == last.get("role") and message["role"] != "tool" and plain:
            turns[-1] = {**last, "content": "\n\n".join(map(str, texts))}
        else:
            turns.append(message)
    first = next((at for at, message in enumerate(turns) if message["role"] != "system"), len(turns))
    if first < len(turns) and turns[first]["role"] == "assistant":
        turns.insert(first, {"role": "user", "content": "[The conversation goes on]"})
    return turns


def _size_of(request: ModelRequest) -> int:
    """Bytes of what a server counts as the prompt."""
    try:
        return max(len(orjson.dumps([list(request.messages), list(request.tools)])), 1)
    except orjson.JSONEncodeError:
        return max(len(encode({"messages": list(request.messages), "tools": list(request.tools)})), 1)
