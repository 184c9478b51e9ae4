"""What came back from the model, as it came: the raw completion and the ways a call can fail."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str  # JSON as the model wrote it: may be broken


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a chat-completions server, tolerant of every shape in the wild.

    `content` is "" when it was null, absent or blank-typed; list content is joined. `reasoning` is the first
    non-empty of reasoning_content, reasoning, joined reasoning_details. `raw_message` is the assistant message
    verbatim, for replay within the same tool turn only. `complete` is False when a stream ended without
    finish_reason and without [DONE].
    """

    content: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    generation_id: str = ""
    usage: Usage = field(default_factory=Usage)
    raw_message: dict[str, Any] = field(default_factory=dict)
    first_byte_seconds: float | None = None
    seconds: float = 0.0
    complete: bool = True


class CallFault(StrEnum):
    """Why a call to the model gave no completion at all."""

    CONNECT = "connect"  # never reached the server
    NO_FIRST_BYTE = "no_first_byte"  # only comments, or nothing, until the first-byte deadline
    IDLE = "idle"  # data stopped coming in mid-stream
    DEADLINE = "deadline"  # the total deadline
    THINKING_TOO_LONG = "thinking_too_long"  # reasoning went on for too long without a word
    CUT = "cut"  # the connection broke, or the stream ended with nothing usable
    OVERLOADED = "overloaded"  # 408, 429, 5xx, or their twins inside a 200
    BAD_REQUEST = "bad_request"  # 400, 422: our request or our history
    NOT_FOUND = "not_found"  # 404: unknown model or no endpoint for these parameters
    CONTEXT_TOO_LONG = "context_too_long"
    ACCOUNT = "account"  # 401, 402, 403 without moderation
    MODERATION = "moderation"
    MALFORMED = "malformed"  # a 200 that is not JSON, or without choices


class ModelCallFailed(Exception):
    """A call gave no completion; `fault` says why, `status` is the HTTP status or error code where there was one.

    `repair` is the value of the `bot.agent.repairs.Repair` with which the same request may be asked again, "" for none.
    `partial_text` and `partial_reasoning` are what had come by then. They stay out of `args`, so that no log and no
    report that prints the exception holds what a model thought.
    """

    def __init__(
        self,
        fault: CallFault,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        detail: str = "",
        seconds: float = 0.0,
        generation_id: str = "",
        partial_text: str = "",
        partial_reasoning: str = "",
        repair: str = "",
    ) -> None:
        super().__init__(fault, status, retry_after_seconds, detail, seconds, generation_id)
        self.fault = fault
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.detail = detail
        self.seconds = seconds
        self.generation_id = generation_id
        self.partial_text = partial_text
        self.partial_reasoning = partial_reasoning
        self.repair = repair
