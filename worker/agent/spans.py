"""A run as Sentry's agent monitoring sees it: names and figures, never a word of customer or model."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from runtime.clock import now_ms
from runtime.sentry import traced_span
from worker.agent.attempts import AttemptRecord

if TYPE_CHECKING:
    from sentry_sdk.tracing import Span

AGENT: Final = "nightshift"
# The names are those of OpenTelemetry, which Sentry's agent monitoring reads; see sentry_sdk.consts.SPANDATA.
_OPERATION: Final = "gen_ai.operation.name"
_MODEL_ASKED: Final = "gen_ai.request.model"
_FIGURES: Final = (
    ("gen_ai.response.model", "model"),
    ("gen_ai.response.id", "generation_id"),
    ("gen_ai.request.max_tokens", "max_tokens"),
    ("gen_ai.usage.input_tokens", "prompt_tokens"),
    ("gen_ai.usage.input_tokens.cached", "cached_tokens"),
    ("gen_ai.usage.output_tokens", "completion_tokens"),
    ("gen_ai.usage.output_tokens.reasoning", "reasoning_tokens"),
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
    """The span of one agent run; a parent of None, where nothing is traced, makes every call a no-op.

    Children are given their parent by hand: tools run side by side, and the current span of Sentry's scope would
    make the later one a child of the earlier.
    """

    def __init__(self, span: "Span | None") -> None:
        self._span = span

    def chat(self, record: AttemptRecord) -> None:
        """One request to a model, which has just ended."""
        if self._span is None:
            return
        ends = datetime.fromtimestamp(now_ms() / 1000, UTC)
        span = self._span.start_child(
            op="gen_ai.chat",
            name=f"chat {record.model_asked}",
            start_timestamp=ends - timedelta(seconds=record.seconds),
        )
        span.set_data(_OPERATION, "chat")
        span.set_data(_MODEL_ASKED, record.model_asked)
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
        span = self._span.start_child(op="gen_ai.execute_tool", name=f"execute_tool {name}")
        span.set_data(_OPERATION, "execute_tool")
        span.set_data("gen_ai.tool.name", name)
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
    """The span of an agent run, under the transaction of the task it runs for, if that is traced."""
    parent = traced_span()
    if parent is None:
        yield AgentSpan(None)
        return
    span = parent.start_child(op="gen_ai.invoke_agent", name=f"invoke_agent {AGENT}")
    span.set_data(_OPERATION, "invoke_agent")
    span.set_data("gen_ai.agent.name", AGENT)
    span.set_data("gen_ai.conversation.id", conversation_id)
    span.set_data(_MODEL_ASKED, model)
    try:
        yield AgentSpan(span)
    finally:
        span.finish()


def _clipped(value: Any) -> Any:
    return value[:_MOST_CHARS] if isinstance(value, str) else value
