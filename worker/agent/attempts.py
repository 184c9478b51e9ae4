"""A record of every attempt: what was asked, what came back, what it cost. Never the words themselves."""

from dataclasses import dataclass
from typing import Any

from bot.model_output import Completion, ModelCallFailed, Usage
from bot.reply.validation import Judgement
from clients.llm.client import ModelRequest
from clients.llm.usage import estimate_tokens

MOST_REASONING_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """`verdict` is the validator's, or `tool_step`, or `call_failed`; seconds are wall time."""

    rung: str
    step: int
    model_asked: str
    prompt_hash: str
    verdict: str
    rule: str = ""
    model: str = ""
    provider: str = ""
    generation_id: str = ""
    finish_reason: str = ""
    native_finish_reason: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    first_byte_seconds: float | None = None
    seconds: float = 0.0
    tool_calls: int = 0
    tool_choice: str = ""
    thinking: str = ""
    max_tokens: int = 0
    content_chars: int = 0
    status: int | None = None

    @classmethod
    def of_tool_step(
        cls, request: ModelRequest, completion: Completion, rung: str, step: int, prompt_hash: str
    ) -> "AttemptRecord":
        return cls(verdict="tool_step", **_common(request, completion, rung, step, prompt_hash))

    @classmethod
    def of_judgement(
        cls, request: ModelRequest, completion: Completion, judgement: Judgement, rung: str, step: int, prompt_hash: str
    ) -> "AttemptRecord":
        return cls(
            verdict=judgement.verdict.value,
            rule=judgement.rule,
            **_common(request, completion, rung, step, prompt_hash),
        )

    @classmethod
    def of_failure(
        cls, request: ModelRequest, failure: ModelCallFailed, usage: Usage, rung: str, step: int, prompt_hash: str
    ) -> "AttemptRecord":
        return cls(
            rung=rung,
            step=step,
            model_asked=request.model,
            prompt_hash=prompt_hash,
            verdict="call_failed",
            rule=failure.fault.value,
            generation_id=failure.generation_id,
            seconds=round(failure.seconds, 3),
            tool_choice=request.tool_choice or "",
            thinking=request.thinking,
            max_tokens=request.max_tokens,
            content_chars=len(failure.partial_text),
            status=failure.status,
            **{name: getattr(usage, name) for name in _USAGE},
        )


def _common(request: ModelRequest, completion: Completion, rung: str, step: int, prompt_hash: str) -> dict[str, Any]:
    return {
        "rung": rung,
        "step": step,
        "model_asked": request.model,
        "prompt_hash": prompt_hash,
        "model": completion.model,
        "provider": completion.provider,
        "generation_id": completion.generation_id,
        "finish_reason": completion.finish_reason or "",
        "native_finish_reason": completion.native_finish_reason or "",
        **{name: getattr(completion.usage, name) for name in _USAGE},
        "first_byte_seconds": completion.first_byte_seconds,
        "seconds": round(completion.seconds, 3),
        "tool_calls": len(completion.tool_calls),
        "tool_choice": request.tool_choice or "",
        "thinking": request.thinking,
        "max_tokens": request.max_tokens,
        "content_chars": len(completion.content),
    }


_USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "cost")


def usage_of_failure(request: ModelRequest, failure: ModelCallFailed) -> Usage:
    """Estimated, since a call that was cut off names no figures; nothing when nothing had come."""
    reasoned = estimate_tokens(len(failure.partial_reasoning))
    written = estimate_tokens(len(failure.partial_text))
    if not reasoned + written:
        return Usage()
    asked = sum(len(str(message.get("content") or "")) for message in request.messages)
    return Usage(estimate_tokens(asked), completion_tokens=reasoned + written, reasoning_tokens=reasoned)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The raw reasoning of a failed attempt: it never leaves the sealed, short-lived store."""

    rung: str
    step: int
    rule: str
    text: str

    @classmethod
    def of(cls, reasoning: str, rung: str, step: int, rule: str) -> "Reasoning":
        """The end of `reasoning`: it says why no answer came."""
        return cls(rung, step, rule, reasoning[-MOST_REASONING_CHARS:])
