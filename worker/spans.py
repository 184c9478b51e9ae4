"""A turn as Sentry's agent monitoring sees it: names and figures, never a word of what was asked, thought or said."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sentry_sdk
from sentry_sdk.consts import OP, SPANDATA
from sentry_sdk.tracing import Span

from runtime.clock import now_ms
from worker.attempts import AttemptRecord

AGENT: Final = "nightshift"
_FIGURES: Final = (
    (SPANDATA.GEN_AI_RESPONSE_MODEL, "model"),
    (SPANDATA.GEN_AI_RESPONSE_ID, "generation_id"),
    (SPANDATA.GEN_AI_REQUEST_MAX_TOKENS, "max_tokens"),
    (SPANDATA.GEN_AI_USAGE_INPUT_TOKENS, "prompt_tokens"),
    (SPANDATA.GEN_AI_USAGE_INPUT_TOKENS_CACHED, "cached_tokens"),
    (SPANDATA.GEN_AI_USAGE_OUTPUT_TOKENS, "completion_tokens"),
    (SPANDATA.GEN_AI_USAGE_OUTPUT_TOKENS_REASONING, "reasoning_tokens"),
    ("nightshift.cost_usd", "cost"),
    ("nightshift.provider", "provider"),
    ("nightshift.finish_reason", "finish_reason"),
    ("nightshift.rung", "rung"),
    ("nightshift.step", "step"),
    ("nightshift.verdict", "verdict"),
    ("nightshift.rule", "rule"),
)
_MOST_CHARS: Final = 100  # of a server's own label


class AgentSpan:
    """The span of one turn's thinking; a parent of None, where nothing is traced, makes every call a no-op.

    Children are given their parent by hand: tools run side by side, and the current span of Sentry's scope would
    make the later one a child of the earlier.
    """

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def chat(self, record: AttemptRecord) -> None:
        """One request to a model, which has just ended."""
        if self._span is None:
            return
        ends = datetime.fromtimestamp(now_ms() / 1000, UTC)
        span = self._span.start_child(
            op=OP.GEN_AI_CHAT,
            name=f"chat {record.model_asked}",
            start_timestamp=ends - timedelta(seconds=record.seconds),
        )
        span.set_data(SPANDATA.GEN_AI_OPERATION_NAME, "chat")
        span.set_data(SPANDATA.GEN_AI_REQUEST_MODEL, record.model_asked)
        for name, field in _FIGURES:
            if (value := getattr(record, field)) not in ("", None):
                span.set_data(name, _clipped(value))
        span.set_status("internal_error" if record.verdict == "call_failed" else "ok")
        span.finish(end_timestamp=ends)

    @contextmanager
    def tool(self, name: str) -> Iterator[None]:
        """One call of a tool; a name that a model made up may hold anything and must not come here."""
        if self._span is None:
            yield
            return
        span = self._span.start_child(op=OP.GEN_AI_EXECUTE_TOOL, name=f"execute_tool {name}")
        span.set_data(SPANDATA.GEN_AI_OPERATION_NAME, "execute_tool")
        span.set_data(SPANDATA.GEN_AI_TOOL_NAME, name)
        try:
            yield
        finally:
            span.finish()

    def conclude(self, *, rule: str, partial: bool, answered: bool) -> None:
        if self._span is not None:
            self._span.set_data("nightshift.rule", rule)
            self._span.set_data("nightshift.partial", partial)
            self._span.set_status("ok" if answered else "internal_error")


@contextmanager
def invoke_agent(*, conversation_id: str, model: str) -> Iterator[AgentSpan]:
    """The span of a turn's thinking, under the transaction of the task it runs for, if that is traced."""
    parent = sentry_sdk.get_current_span()
    if not isinstance(parent, Span) or not parent.sampled:
        yield AgentSpan(None)
        return
    span = parent.start_child(op=OP.GEN_AI_INVOKE_AGENT, name=f"invoke_agent {AGENT}")
    span.set_data(SPANDATA.GEN_AI_OPERATION_NAME, "invoke_agent")
    span.set_data(SPANDATA.GEN_AI_AGENT_NAME, AGENT)
    span.set_data(SPANDATA.GEN_AI_CONVERSATION_ID, conversation_id)
    span.set_data(SPANDATA.GEN_AI_REQUEST_MODEL, model)
    try:
        yield AgentSpan(span)
    finally:
        span.finish()


def _clipped(value: Any) -> Any:
    return value[:_MOST_CHARS] if isinstance(value, str) else value
