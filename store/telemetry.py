"""Reads the telemetry back: the records of a span, the thoughts of one failed turn, the counters for Prometheus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.agent.report import Turn
from store.keys import (
    GENERATIONS,
    MODEL_COUNTS,
    TELEMETRY,
    TELEMETRY_ERASED,
    conversation_key,
    generations_key,
    thoughts_key,
)
from store.scripts import Scripts

_PAGE = 1000

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Records:
    """`complete` is False when the stream has already dropped records of the span."""

    turns: tuple[Turn, ...]
    complete: bool
    from_ms: int


async def read_records(scripts: Scripts, *, since_ms: int) -> Records:
    """Every turn that ended at or after `since_ms`, oldest first."""
    found: dict[str, dict[str, Any]] = {}
    delivered: dict[str, float] = {}
    superseded: set[str] = set()
    start = str(since_ms)
    while rows := await _rows(scripts, start):
        for entry_id, fields in rows:
            if "turn" in fields:
                found[entry_id] = orjson.loads(fields["turn"])
            elif "delivered" in fields:
                delivered[fields["of"]] = float(fields["delivered"])
            elif "superseded" in fields:
                superseded.add(fields["of"])
        start = f"({rows[-1][0]}"
    turns = tuple(Turn(key, record, delivered.get(key), key in superseded) for key, record in found.items())
    oldest, dropped = await _oldest(scripts)
    complete = not dropped or oldest <= since_ms
    return Records(turns, complete, since_ms if complete else oldest)


async def read_thoughts(scripts: Scripts, record_id: str) -> list[dict[str, Any]] | None:
    """The raw thoughts of the failed attempts of one turn; None when there are none, or none any more."""
    rows = _as_rows(await scripts.command("XRANGE", TELEMETRY, record_id, record_id))
    if not rows:
        return None
    kept = await scripts.command("GET", thoughts_key(rows[0][1]["c"], record_id))
    return list(orjson.loads(kept)) if kept else None


async def read_generations(scripts: Scripts, record_id: str) -> list[dict[str, Any]]:
    """What the provider itself noted of the attempts of one failed turn, as far as it has been fetched."""
    rows = _as_rows(await scripts.command("XRANGE", TELEMETRY, record_id, record_id))
    if not rows:
        return []
    flat = await scripts.command("HGETALL", generations_key(rows[0][1]["c"], record_id))
    return [orjson.loads(body) for _, body in sorted(_pairs(flat).items())]


async def erase_telemetry(scripts: Scripts, conversation_id: str) -> int:
    """Drop every record of one conversation with its thoughts; how many there were. Counters name no customer."""
    erased, start = 0, "-"
    while rows := await _rows(scripts, start):
        mine = [entry_id for entry_id, fields in rows if fields.get("c") == conversation_id]
        for entry_id in mine:
            kept = thoughts_key(conversation_id, entry_id), generations_key(conversation_id, entry_id)
            await scripts.command("DEL", *kept)
        if mine:
            # Counted, so that an erased record is not taken for one that the stream had no room for.
            await scripts.command("INCRBY", TELEMETRY_ERASED, int(await scripts.command("XDEL", TELEMETRY, *mine)))
        erased += len(mine)
        start = f"({rows[-1][0]}"
    await scripts.command("DEL", conversation_key(conversation_id, "told"))
    for member in await scripts.command("ZRANGE", GENERATIONS, 0, -1):
        if str(member).startswith(f"{conversation_id} "):
            await scripts.command("ZREM", GENERATIONS, member)
    return erased


async def model_metrics(scripts: Scripts) -> dict[str, dict[Labels, float]]:
    """Counters for Prometheus, by metric name and labels."""
    flat = await scripts.command("HGETALL", MODEL_COUNTS)
    counts: dict[Labels, float] = {}
    for name, count in _pairs(flat).items():
        _, verdict, rule, rung = name.split("|", 3)
        counts[("verdict", verdict), ("rule", rule), ("rung", rung)] = float(count)
    return {"nightshift_model_attempts_total": counts}


async def _rows(scripts: Scripts, start: str) -> list[tuple[str, dict[str, str]]]:
    return _as_rows(await scripts.command("XRANGE", TELEMETRY, start, "+", "COUNT", _PAGE))


def _as_rows(answer: Sequence[Any]) -> list[tuple[str, dict[str, str]]]:
    return [(key, _pairs(flat)) for key, flat in answer if flat is not None]


def _pairs(flat: Any) -> dict[str, str]:
    return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))


async def _oldest(scripts: Scripts) -> tuple[int, bool]:
    """When the oldest record was written, and whether the stream has dropped any before it."""
    if not await scripts.command("EXISTS", TELEMETRY):
        return 0, False
    info = await scripts.command("XINFO", "STREAM", TELEMETRY)
    facts = info if isinstance(info, dict) else dict(zip(info[::2], info[1::2], strict=True))
    erased = int(await scripts.command("GET", TELEMETRY_ERASED) or 0)
    dropped = int(facts["entries-added"]) > int(facts["length"]) + erased
    first = facts.get("first-entry")
    if not first:  # all of them have gone by their age
        return int(str(facts["last-generated-id"]).split("-")[0]) + 1, dropped
    return int(str(first[0]).split("-")[0]), dropped
