"""Token counts under the names that servers give them, estimated where a server keeps them to itself."""

import math
from collections.abc import Mapping
from typing import Any, Final

from bot.model_output import Usage

CHARS_PER_TOKEN: Final = 4  # a usual rule of thumb; telemetry only


def read_usage(raw: Any, *, reasoning_chars: int, written_chars: int) -> Usage:
    """`raw` is the `usage` object if there was one; the lengths stand in for counts that are missing or zero."""
    raw = raw if isinstance(raw, Mapping) else {}
    estimated = estimate_tokens(reasoning_chars)
    completion = _count(raw, "completion_tokens", "output_tokens")
    if completion is None:
        completion = estimated + estimate_tokens(written_chars)
        reasoning = estimated
    else:
        details = _mapping(raw, "completion_tokens_details", "output_tokens_details")
        reasoning = _count(details, "reasoning_tokens") or _count(raw, "reasoning_tokens") or min(estimated, completion)
    cached = _count(_mapping(raw, "prompt_tokens_details", "input_tokens_details"), "cached_tokens")
    return Usage(
        prompt_tokens=_count(raw, "prompt_tokens", "input_tokens") or 0,
        cached_tokens=cached or _count(raw, "prompt_cache_hit_tokens") or 0,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
        cost=_cost(raw.get("cost")),
    )


def estimate_tokens(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)


def _mapping(raw: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((value for name in names if isinstance(value := raw.get(name), Mapping)), {})


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return int(value)
    return None


def _cost(value: Any) -> float | None:
    try:
        cost = float(value)
    except (TypeError, ValueError):
        return None
    return cost if math.isfinite(cost) and cost >= 0 else None
