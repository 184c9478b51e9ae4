"""The provider's own record of one generation (`GET /generation?id=`), which appears some seconds after the answer."""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from clients.llm.completions import parse_json

TIMEOUT_SECONDS: Final = 10.0
MAX_BODY_BYTES: Final = 256 * 1024

# Figures and short words; what was said is never asked for and never kept.
_FIELDS: Final = (
    "id", "model", "provider_name", "finish_reason", "native_finish_reason", "tokens_prompt", "tokens_completion",
    "native_tokens_prompt", "native_tokens_completion", "native_tokens_reasoning", "native_tokens_cached",
    "total_cost", "cache_discount", "latency", "generation_time", "moderation_latency", "cancelled", "streamed",
    "is_byok", "router", "upstream_id", "service_tier",
)  # fmt: skip


async def fetch_generation(
    http: httpx.AsyncClient, *, base_url: str, api_key: str, generation_id: str
) -> dict[str, Any] | None:
    """The figures of one generation, or None when the server has no such record, not yet, or cannot say."""
    headers = {"Authorization": f"Bearer {api_key.strip()}", "Accept": "application/json"}
    try:
        response = await http.get(
            f"{base_url.rstrip('/')}/generation",
            params={"id": generation_id},
            headers=headers,
            timeout=TIMEOUT_SECONDS,
        )
        body = parse_json(response.content) if response.is_success and len(response.content) < MAX_BODY_BYTES else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(data, Mapping):
        return None
    record = {name: value for name in _FIELDS if _is_short(value := data.get(name))}
    responses = data.get("provider_responses")
    if isinstance(responses, list):
        record["provider_responses"] = [
            {name: r[name] for name in ("provider_name", "status", "latency") if _is_short(r.get(name))}
            for r in responses[:10]
            if isinstance(r, Mapping)
        ]
    return record


def _is_short(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 200)
