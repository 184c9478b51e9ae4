"""`nightshift report`: how often the models tried to stay silent, what caught it, who rescued it, what it cost."""

import asyncio
import re
import sys
from typing import Any

import orjson

from bot.agent.report import report_of
from cli.ledger import open_scripts
from cli.store import settings_with_store
from runtime.clock import local
from runtime.settings import Settings
from store.connection import StoreUnavailable
from store.telemetry import Records, read_records

_SPAN = re.compile(r"(\d{1,5})([mhdw])")
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def span_ms(text: str) -> int | None:
    """ "30d", "12h", "45m" or "2w" in milliseconds; None for anything else."""
    match = _SPAN.fullmatch(text.strip().lower())
    return int(match[1]) * _UNIT_MS[match[2]] if match else None


def run(*, since: str, json: bool) -> int:
    """0, 1 when Redis cannot be read, 2 for a span that is none."""
    span = span_ms(since)
    if span is None:
        sys.stderr.write(f"--since {since!r} is no span; write it like 30d, 12h, 45m or 2w\n")
        return 2
    settings = settings_with_store()
    try:
        records, until = asyncio.run(_records(settings, span))
    except StoreUnavailable as exc:
        return unreadable(exc)
    report = _dated(report_of(records.turns), records, until)
    if json:
        sys.stdout.write(orjson.dumps(report).decode() + "\n")
    else:
        from cli.report_view import show_report

        zone = settings.config.business.timezone
        show_report(report, since=local(records.from_ms, zone), until=local(until, zone))
    return 0


async def _records(settings: Settings, span: int) -> tuple[Records, int]:
    """Those of the last `span` milliseconds, and now: both by the clock that has dated them."""
    async with open_scripts(settings) as scripts:
        now_ms = await scripts.ask_time()
        return await read_records(scripts, since_ms=now_ms - span), now_ms


def _dated(report: dict[str, Any], records: Records, until: int) -> dict[str, Any]:
    return {"from_ms": records.from_ms, "until_ms": until, "complete": records.complete, **report}


def unreadable(exc: StoreUnavailable) -> int:
    sys.stderr.write(
        f"The telemetry cannot be read: Redis is unavailable ({exc}). Is it running, and REDIS_URL right?\n"
    )
    return 1
