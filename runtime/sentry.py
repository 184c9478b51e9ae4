"""Sentry gets bugs, and nothing of a customer: no bodies, no locals, no tokens."""

from collections.abc import Mapping
from typing import Any

import sentry_sdk
from sentry_sdk.scrubber import DEFAULT_DENYLIST, EventScrubber

from bot.errors import NightshiftError
from runtime.masking import mask
from runtime.settings import Settings

_DENYLIST = [*DEFAULT_DENYLIST, "access_token", "client_secret", "appsecret_proof", "signed_request", "text", "message"]


def init_sentry(process: str, settings: Settings) -> bool:
    """Once per process, before the application is built; False when no DSN is set."""
    dsn = settings.env.sentry_dsn.get_secret_value()
    if not dsn:
        return False
    sentry_sdk.init(
        dsn=dsn,
        environment=settings.env.app_env,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        event_scrubber=EventScrubber(denylist=_DENYLIST, recursive=True),
        before_send=_before_send,
        before_send_transaction=_before_send,
        before_breadcrumb=_masked,
        traces_sample_rate=0.0,
        shutdown_timeout=5,
    )
    sentry_sdk.set_tag("process", process)
    return True


def _before_send(event: Any, hint: Mapping[str, Any]) -> Any:
    """Foreseen failures are counted elsewhere; what is sent holds no secrets wherever a library put them."""
    info = hint.get("exc_info")
    if info and isinstance(info[1], NightshiftError):
        return None
    return _masked(event, hint)


def _masked(value: Any, _hint: object = None) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return value
