"""What of an event may leave for Sentry: where something broke, of what type, and codes; nothing that a person said.

An allow-list: libraries put addresses, arguments and messages wherever they like, and a customer's id is a number among
others, which no mask can tell.
"""

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bot.errors import NeedsOperator, OutcomeUnknown, Refused, Transient
from runtime.masking import mask, masked

SAFE_KINDS = (Transient, OutcomeUnknown, NeedsOperator, Refused)
"""Exceptions of these kinds hold codes, by the rule of `bot.errors`; of all others the type and the place are told."""

SAFE_FIELDS = ("error", "conversation", "rule", "alert", "status", "code", "subcode", "step", "process")
"""Fields of our own log lines that hold a code or a hash."""

OUR_SPANS = "gen_ai."

_CODE = re.compile(r"(?!.*\d{10})[A-Za-z0-9_.:-]{1,64}")
_AS_IT_IS = (
    *("event_id", "timestamp", "start_timestamp", "type", "level", "logger", "platform", "release", "dist"),
    *("environment", "server_name", "sdk", "modules", "transaction_info", "measurements"),
)
_TRACE = ("trace_id", "span_id", "parent_span_id", "op", "origin", "status")
_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")
_SOURCE = ("pre_context", "context_line", "post_context")
_CRUMB = ("type", "category", "level", "timestamp")
_SPAN_TEXTS = ("description", "data", "tags")


def safe_event(event: Mapping[str, Any], hint: Mapping[str, Any]) -> dict[str, Any]:
    """An error's or a transaction's event, rebuilt from what is allowed."""
    kept = {name: event[name] for name in _AS_IT_IS if name in event}
    if "transaction" in event:
        # A name that is an address is no name, and holds what the address held.
        source = (event.get("transaction_info") or {}).get("source")
        kept["transaction"] = "unnamed" if source == "url" else mask(str(event["transaction"]))
    kept["tags"] = {k: v for k, v in dict(event.get("tags") or {}).items() if k == "process" and _is_code(v)}
    contexts = event.get("contexts") or {}
    kept["contexts"] = {"trace": _only(contexts.get("trace"), _TRACE), "runtime": contexts.get("runtime") or {}}
    if "exception" in event:
        kept["exception"] = {"values": [_safe_exception(value) for value in _values(event["exception"])]}
    if "logentry" in event:
        kept["logentry"] = {"message": said(hint.get("log_record"))}
    if "breadcrumbs" in event:
        kept["breadcrumbs"] = {
            "values": [_only(c, (*_CRUMB, "message", "data")) for c in _values(event["breadcrumbs"])]
        }
    if "spans" in event:
        kept["spans"] = [_safe_span(span) for span in event["spans"] if str(span.get("op", "")).startswith(OUR_SPANS)]
    return kept


def safe_breadcrumb(crumb: Mapping[str, Any], hint: Mapping[str, Any]) -> dict[str, Any]:
    """What led to an event: which logger said which of its sentences, whom a call went to and how it ended."""
    kept = _only(crumb, _CRUMB)
    data = crumb.get("data") or {}
    if crumb.get("type") == "log":
        kept["message"] = said(hint.get("log_record"))
    if crumb.get("type") == "http":
        kept["data"] = {"url": origin_of(str(data.get("url", "")))}
        kept["data"] |= {key: value for key, value in data.items() if key.startswith("http.") and _is_code(value)}
    return kept


def said(record: object) -> str:
    """A log line without its values: of our own the event and its codes, of a library's the sentence before filling."""
    if not isinstance(record, logging.LogRecord):
        return ""
    if isinstance(record.msg, Mapping):
        fields = [f"{name}={record.msg[name]}" for name in SAFE_FIELDS if _is_code(record.msg.get(name))]
        return " ".join([mask(str(record.msg.get("event", ""))), *fields])
    if record.args:  # then what was written is a sentence with gaps
        return mask(str(record.msg))
    return f"a line of {record.name}"


def origin_of(url: str) -> str:
    """Scheme and host alone: Meta's paths name customers, Telegram's hold the token."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname or ''}" + (f":{port}" if port else "")


def _safe_exception(value: Mapping[str, Any]) -> dict[str, Any]:
    module, name = str(value.get("module") or ""), str(value.get("type") or "")
    kept: dict[str, Any] = {"type": name, "module": value.get("module")}
    kind = getattr(sys.modules.get(module), name, None)
    if isinstance(kind, type) and issubclass(kind, SAFE_KINDS):
        kept["value"] = mask(str(value.get("value") or ""))
    kept["mechanism"] = _only(
        value.get("mechanism"), ("type", "handled", "exception_id", "parent_id", "is_exception_group", "source")
    )
    frames = (value.get("stacktrace") or {}).get("frames") or []
    # Lines of the program say what it does, not with whom; an operator's own module may have a key in it.
    kept["stacktrace"] = {"frames": [_only(frame, _FRAME) | masked(_only(frame, _SOURCE)) for frame in frames]}
    return kept


def _safe_span(span: Mapping[str, Any]) -> dict[str, Any]:
    return {name: masked(value) if name in _SPAN_TEXTS else value for name, value in span.items()}


def _values(holder: Any) -> list[Any]:
    return list(holder.get("values") or []) if isinstance(holder, Mapping) else list(holder or [])


def _only(found: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found} if isinstance(found, Mapping) else {}


def _is_code(value: object) -> bool:
    return value is not None and _CODE.fullmatch(str(value)) is not None
