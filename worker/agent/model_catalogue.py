"""Asks the model catalogue what the configured models can do. It points things out; it delays and refuses nothing."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx

from bot.agent.ladder import Rung
from clients.llm.completions import parse_json
from runtime.logging import get_logger
from worker.agent.cost_cap import Prices

log = get_logger(__name__)

PATIENCE_SECONDS = 15.0
MAX_BODY_BYTES = 16 * 1024 * 1024  # a full catalogue is a few megabytes


async def look_at_models(
    http: httpx.AsyncClient, *, base_url: str, api_key: str, rungs: Sequence[Rung], prices: Prices | None = None
) -> list[str]:
    """Log a warning for each thing the catalogue finds wrong with these rungs, and return them; `prices` learns."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            models = await _fetch(http, f"{base_url.rstrip('/')}/models", api_key)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError) as exc:
        # A server without a catalogue is a legal one, and a fault of the network shows itself in the first turn.
        warnings = [f"the model catalogue did not answer ({type(exc).__name__}): what the models support is not known"]
    else:
        warnings = weaknesses(models, rungs)
        if prices is not None:
            prices.learn({rung.model: models[rung.model] for rung in rungs if rung.model in models})
    for warning in warnings:
        log.warning("model_catalogue", what=warning)
    return warnings


async def _fetch(http: httpx.AsyncClient, url: str, api_key: str) -> dict[str, Mapping[str, Any]]:
    """The models by name. Raise ValueError when the answer is not a catalogue."""
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {api_key.strip()}"} if api_key else {})
    async with http.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise ValueError("too large")
    answer = parse_json(bytes(body))
    listed = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list):
        raise ValueError("no list of models")  # noqa: TRY004 - one kind of failure for the caller
    return {m["id"]: m for m in listed if isinstance(m, Mapping) and isinstance(m.get("id"), str)}


def weaknesses(models: Mapping[str, Mapping[str, Any]], rungs: Sequence[Rung]) -> list[str]:
    """What the catalogue says against each rung, in the operator's words; what it does not say is not held against."""
    found: list[str] = []
    for name in dict.fromkeys(rung.model for rung in rungs):
        mine = [rung for rung in rungs if rung.model == name]
        model = models.get(name)
        if model is None:
            found.append(f"{name}: the catalogue does not know this model")
            continue
        found += [f"{name}: {what}" for what in _against(model, mine)]
    first = models.get(rungs[0].model)
    fallbacks = [models[r.model] for r in rungs if r.is_fallback and r.model in models and r.model != rungs[0].model]
    if first is not None and _must_think(first) and fallbacks and all(map(_must_think, fallbacks)):
        found.append(
            f"{rungs[0].model} cannot stop thinking, and neither can any fallback: a turn lost in reasoning has no "
            "other way out; choose a fallback without mandatory reasoning"
        )
    return found


def _against(model: Mapping[str, Any], rungs: Sequence[Rung]) -> Iterable[str]:
    supported = model.get("supported_parameters")
    if isinstance(supported, list):
        if any(rung.tools for rung in rungs) and "tools" not in supported:
            yield "it does not support tools, so it cannot look anything up"
        elif any(rung.tools for rung in rungs) and "tool_choice" not in supported:
            yield "it does not support tool_choice: it may call tools at the forced last step"
        if any(rung.thinking != "default" for rung in rungs) and "reasoning" not in supported:
            yield "it does not support reasoning settings: thinking cannot be turned off or limited"
    quiet = [rung.name for rung in rungs if rung.thinking == "off"]
    if quiet and _must_think(model):
        yield f"its reasoning is mandatory, yet {', '.join(quiet)} would turn it off"
    length = model.get("context_length")
    room = max((rung.max_tokens for rung in rungs), default=0)
    if isinstance(length, int) and 0 < length <= room:
        yield f"its context of {length} tokens is smaller than max_tokens"


def _must_think(model: Mapping[str, Any]) -> bool:
    reasoning = model.get("reasoning")
    return isinstance(reasoning, Mapping) and reasoning.get("mandatory") is True
