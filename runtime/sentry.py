"""Sentry gets bugs, and nothing of a customer: no bodies, no locals, no tokens. What may leave: `sentry_events`."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bot.errors import NightshiftError
from runtime.known_secrets import secrets_of
from runtime.masking import know_secrets
from runtime.sentry_events import safe_breadcrumb, safe_event
from runtime.settings import Settings

if TYPE_CHECKING:
    from sentry_sdk.tracing import Span

TRACED_TASK = "answer"  # as runtime.queue names it; importing that would cost the receiver all of Celery


def init_sentry(process: str, settings: Settings) -> bool:
    """Once per process, before the application is built; False when no DSN is set."""
    dsn = settings.env.sentry_dsn.get_secret_value()
    if not dsn:
        return False
    # 4 MB and 20 ms that a process without it need not carry.
    import sentry_sdk  # noqa: PLC0415

    know_secrets(secrets_of(settings))
    sentry_sdk.init(
        dsn=dsn,
        environment=settings.env.app_env,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        before_send=_before_send,
        before_send_transaction=_before_send_transaction,
        before_breadcrumb=safe_breadcrumb,
        traces_sampler=turn_sampler(settings.config.telemetry.traces_sample_rate),
        trace_propagation_targets=[],  # what Meta, the model and Telegram are asked carries nothing of ours
        stream_gen_ai_spans=False,  # streamed ones leave past before_send_transaction
        shutdown_timeout=5,
    )
    sentry_sdk.set_tag("process", process)
    return True


def capture(error: BaseException) -> None:
    if (sdk := _loaded()) is not None:
        sdk.capture_exception(error)


def flush(seconds: float) -> None:
    """Wait until what was captured is sent, for so long at most."""
    if (sdk := _loaded()) is not None:
        sdk.flush(seconds)


def traced_span() -> "Span | None":
    """The current span, where this work is traced."""
    sdk = _loaded()
    span = sdk.get_current_span() if sdk is not None else None
    return span if span is not None and getattr(span, "sampled", False) else None


def _loaded() -> Any:
    """The SDK, if `init_sentry` had a reason to load it."""
    return sys.modules.get("sentry_sdk")


def turn_sampler(rate: float) -> Callable[[Mapping[str, Any]], float]:
    """Only customers' turns are traced: loops that poll would drown them."""

    def sample(context: Mapping[str, Any]) -> float:
        job = context.get("celery_job") or {}
        return rate if job.get("task") == TRACED_TASK else 0.0

    return sample


def _before_send_transaction(event: Any, hint: Mapping[str, Any]) -> Any:
    """The spans of our own making and no others: those of libraries hold addresses and keys."""
    return {**safe_event(event, hint), "breadcrumbs": {"values": []}}


def _before_send(event: Any, hint: Mapping[str, Any]) -> Any:
    """Foreseen failures are counted elsewhere."""
    info = hint.get("exc_info")
    if info and isinstance(info[1], NightshiftError):
        return None
    return safe_event(event, hint)
