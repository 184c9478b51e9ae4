"""The only place that reads the wall clock and the time zone."""

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic() -> float:
    """Seconds, for measuring spans; never goes back."""
    return time.monotonic()


def local(ms: int, timezone: str) -> datetime:
    """An aware datetime in the business's time zone."""
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone(ZoneInfo(timezone))


def utc_day(ms: int) -> str:
    """Such as 20260131."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y%m%d")
