"""Sorts what a chat-completions server refuses into a `CallFault` and one short word that never quotes the server."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

from bot.model_output import CallFault

# metadata.error_type of OpenRouter, and the string codes and types of OpenAI, Azure, Alibaba and vLLM.
_BY_WORD: Final[Mapping[str, CallFault]] = {
    "context_length_exceeded": CallFault.CONTEXT_TOO_LONG,
    "token_limit_exceeded": CallFault.CONTEXT_TOO_LONG,
    "max_tokens_exceeded": CallFault.BAD_REQUEST,
    "rate_limit_exceeded": CallFault.OVERLOADED,
    "provider_overloaded": CallFault.OVERLOADED,
    "provider_unavailable": CallFault.OVERLOADED,
    "server": CallFault.OVERLOADED,
    "server_error": CallFault.OVERLOADED,
    "timeout": CallFault.OVERLOADED,
    "invalid_prompt": CallFault.BAD_REQUEST,
    "invalid_request_error": CallFault.BAD_REQUEST,
    "content_policy_violation": CallFault.MODERATION,
    "content_filter": CallFault.MODERATION,
    "data_inspection_failed": CallFault.MODERATION,
    "refusal": CallFault.MODERATION,
    "insufficient_quota": CallFault.ACCOUNT,
    "invalid_api_key": CallFault.ACCOUNT,
    "authentication_error": CallFault.ACCOUNT,
    "model_not_found": CallFault.NOT_FOUND,
}
# Generic words say less than the status beside them.
_VAGUE: Final = frozenset({"invalid_request_error", "server_error", "server"})
_SAYS_LITTLE: Final = _VAGUE | {"invalid_prompt"}

# Words of `ModelCallFailed.detail` that name a cause with a known cure, found by the server's phrases. First wins.
_SIGNATURES: Final[Sequence[tuple[str, re.Pattern[str]]]] = tuple(
    (word, re.compile(pattern, re.IGNORECASE))
    for word, pattern in (
        ("reasoning_mandatory", r"reasoning is mandatory|cannot be disabled|thinking (is )?(mandatory|required)"),
        ("reasoning_not_passed_back", r"must be passed back|missing `?reasoning_content"),
        ("prefill_refused", r"prefill"),
        ("system_not_first", r"system message must be at the beginning|(multiple|second|more than one) system mess"),
        ("tool_choice_unsupported", r"tool_choice"),
        ("tools_missing", r"`?tools`?=? (param\w* )?(must be|is required|field is required|are required)"),
        ("orphan_tool_result", r"tool_call_id|must be a response to a prece|tool_use.{0,40}tool_result"),
        ("empty_content", r"(content|text|messages?).{0,60}(empty|non-whitespace|at least one)"),
        (
            "context_too_long",
            (
                r"context (length|window|size|limit|the overflows)|prompt is too long|too many (input )?tokens"
                r"|input.{0,20}too long|request too large|(prompt|model) tokens? limit|exceeds max length|n_keep"
                r"|input token count|must have less than \d+ tokens|max_new_tokens|max_tokens must be at least 1, got -"
            ),
        ),
        ("fewer_max_tokens", r"fewer max_tokens|max_tokens.{0,40}(too large|exceeds|at most)"),
        ("unknown_model", r"model.{0,60}(not (exist|found)|does not exist|not a valid)|not a valid model"),
        ("no_endpoints", r"no (allowed |available )?(endpoints|providers)"),
    )
)
DEEPEST: Final = 4  # of the objects within an error object that are read
_SLUG: Final = re.compile(r"[a-z][a-z0-9_.]{0,39}")
_REFUSED_BEFORE: Final = (
    r"(?:unknown|unrecogni[sz]ed|unsupported|unexpected|extra)\W+(?:(?:request|json|body|payload|keyword)\W+)*"
    r"(?:param(?:eter)?s?|arguments?|fields?|property|properties|names?|keys?|inputs?)"
    r"(?:\W+(?:supplied|provided|found))?\W+"
)
_REFUSED_AFTER: Final = (
    r"[\"'`][^.{}]{0,60}?"
    r"(?:unsupported|not supported|not permitted|not allowed|unknown|unrecogni[sz]ed|not a valid|deprecated)"
)
# Pydantic's words, as Anthropic, Fireworks and vLLM show them.
_EXTRA: Final = (
    r"(?<![\w.]){name}: extra inputs are not permitted|extra inputs are not permitted, field: ['\"]{name}['\"]"
    r"|extra_forbidden.{{0,40}}loc['\"]: ?[(\[]\s*['\"]body['\"], ?['\"]{name}['\"]\s*[)\]]"
)
_WITHIN_MESSAGES: Final = re.compile(r"messages?[.\[]\s?'?\d", re.IGNORECASE)


def sort_failure(status: int | None, body: Any) -> tuple[CallFault, int | None, str]:
    """The fault, the status to report and the detail. `body` is a parsed error body or a bare error object.

    `metadata.error_type` is trusted first, then the code, then the HTTP status, which is `None` inside a 200.
    """
    error = error_object(body)
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    code = _as_status(error.get("code"))
    reported = code or status
    text = words_of(body)
    words = [w for w in (metadata.get("error_type"), error.get("code"), error.get("type")) if isinstance(w, str)]
    known = next((w for w in words if w in _BY_WORD and not (w in _VAGUE and reported)), None)
    fault = _BY_WORD[known] if known else _by_status(reported, metadata)
    signature = _signature(text)
    if signature == "context_too_long" and _may_be_too_long(fault, reported, text):
        fault = CallFault.CONTEXT_TOO_LONG
    precise = known if known not in _SAYS_LITTLE else None
    detail = precise or signature or known or next((w for w in words if _SLUG.fullmatch(w)), "")
    return fault, reported, detail or (f"http_{reported}" if reported else "error")


def error_object(body: Any) -> Mapping[str, Any]:
    """`{"error": {...}}`, `{"error": "..."}`, `{"detail": ...}` and vLLM's flat form, as one flat object."""
    if isinstance(body, list) and body:
        return error_object(body[0])
    if not isinstance(body, Mapping):
        return {"message": body} if isinstance(body, str) else {}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return inner
    return {**body, "message": inner} if isinstance(inner, str) else body


def refused_fields(body: Any, sent: frozenset[str]) -> frozenset[str]:
    """Those of the `sent` top-level fields that this error calls unknown, unsupported or not permitted.

    A bare mention is not enough: "Provider returned error" is about no field of ours.
    """
    error = error_object(body)
    found = {error["param"]} if isinstance(error.get("param"), str) else set()
    found |= _located(error)
    text = words_of(body)
    for name in sent - found:
        words = rf"{_REFUSED_BEFORE}{name}(?!\w|\.\w)|[\"'`]{name}{_REFUSED_AFTER}|{_EXTRA.format(name=name)}"
        if re.search(words, text, re.IGNORECASE):
            found.add(name)
    if _WITHIN_MESSAGES.search(text):
        found.discard("reasoning")  # that of a message, then, which has the same name
    return frozenset(found & sent)


def words_of(body: Any) -> str:
    """All that a server says in an error, in one text; the upstream's own words are in `metadata.raw`."""
    error = error_object(body)
    metadata = error.get("metadata")
    return " ".join(_strings(error, metadata if isinstance(metadata, Mapping) else {}))


def _located(error: Mapping[str, Any]) -> set[str]:
    """The top-level fields among the places that Pydantic names."""
    return {place[1] for place in places_in(error) if len(place) > 1 and isinstance(place[1], str)}


def places_in(value: Any, *, depth: int = 0) -> Iterator[Sequence[Any]]:
    """Pydantic's places of what is wrong, such as ["body", "session_id"], wherever in an error body they stand."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        if isinstance(place := value.get("loc"), list):
            yield place
        for key in ("detail", "message", "error"):
            yield from places_in(value.get(key), depth=depth + 1)
    elif isinstance(value, list):
        for item in value[:20]:
            yield from places_in(item, depth=depth + 1)


def retry_after_seconds(header: str | None, body: Any, *, now_ms: int) -> float | None:
    """What the server asks for: `Retry-After` in seconds or as a date, else OpenRouter's `error.availability`."""
    availability = error_object(body).get("availability")
    retry_after = header or (availability.get("retry_after") if isinstance(availability, Mapping) else None)
    if retry_after is None or isinstance(retry_after, bool):
        return None
    try:
        seconds = float(retry_after)
    except (TypeError, ValueError):
        try:
            seconds = parsedate_to_datetime(str(retry_after)).timestamp() - now_ms / 1000
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _by_status(status: int | None, metadata: Mapping[str, Any]) -> CallFault:
    match status:
        case None:
            return CallFault.OVERLOADED  # an error without a reason comes from a server in trouble
        case 403 if metadata.keys() & {"reasons", "flagged_input", "patterns"}:
            return CallFault.MODERATION
        case 401 | 402 | 403:
            return CallFault.ACCOUNT
        case 404:
            return CallFault.NOT_FOUND
        case 413:
            return CallFault.CONTEXT_TOO_LONG
        case 408 | 425 | 429:
            return CallFault.OVERLOADED
        case _ if 300 <= status < 400:
            return CallFault.NOT_FOUND  # LLM_API_URL points beside the API
        case _ if 400 <= status < 500:
            return CallFault.BAD_REQUEST
        case _:
            return CallFault.OVERLOADED


def _may_be_too_long(fault: CallFault, status: int | None, text: str) -> bool:
    """What is too long for the model, or for what one minute or the balance allows, will be so again: waiting is no
    cure. Local servers say it with a 500 or inside a 200.
    """
    if "request too large" in text.lower():
        return True
    return fault is CallFault.BAD_REQUEST or (fault is CallFault.OVERLOADED and status in (None, 500)) or status == 402


def _as_status(code: Any) -> int | None:
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 300 <= code < 600 else None


def _strings(*sources: Mapping[str, Any], depth: int = 0) -> list[str]:
    """Where servers put their words, which may be objects and lists again, or JSON as text."""
    found: list[str] = []
    for source in sources:
        for key in ("message", "detail", "raw", "msg"):
            value = source.get(key)
            if isinstance(value, str):
                found.append(value[:4000].replace('\\"', '"'))
            items = [item for item in (value if isinstance(value, list) else [value])[:20] if isinstance(item, Mapping)]
            if depth < DEEPEST:
                found += _strings(*map(error_object, items), depth=depth + 1)
    return found


def _signature(text: str) -> str:
    return next((word for word, pattern in _SIGNATURES if pattern.search(text)), "")
