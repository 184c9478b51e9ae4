"""Meta's usage headers: how much of the allowance is spent, and how long a block lasts."""

import math
from collections.abc import Iterator, Mapping

import orjson

_USAGE_HEADERS = ("x-app-usage", "x-page-usage", "x-business-use-case-usage")
_REGAIN_MINUTES = "estimated_time_to_regain_access"


def read_usage_percent(headers: Mapping[str, str]) -> float | None:
    """The fullest of all allowances named, in percent; None when the answer names none."""
    found = [
        value
        for name in _USAGE_HEADERS
        for key, value in _numbers(_parsed(headers.get(name)))
        if key != _REGAIN_MINUTES
    ]
    return max(found, default=None)


def read_retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The longest wait asked for; Meta gives minutes, a proxy in front of it `Retry-After` in seconds."""
    waits = [
        value * 60
        for name in _USAGE_HEADERS
        for key, value in _numbers(_parsed(headers.get(name)))
        if key == _REGAIN_MINUTES and value > 0
    ]
    retry_after = headers.get("retry-after", "").strip()
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
        waits.append(float(retry_after))
    return max(waits, default=None)


def _parsed(header: str | None) -> object:
    try:
        return orjson.loads(header or "null")
    except orjson.JSONDecodeError:
        return None  # Decoration of an answer: unreadable is as good as absent.


def _numbers(value: object) -> Iterator[tuple[str, float]]:
    """Every numeric entry at any depth: the keys differ between hosts and over time."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, int | float) and not isinstance(inner, bool) and math.isfinite(inner):
                yield str(key), float(inner)
            else:
                yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
