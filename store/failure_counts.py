"""Counts what background jobs fail with, in Redis, from where every receiver's /metrics tells it."""

from typing import Final

from runtime.background import Count
from store.keys import EVENTS
from store.scripts import Scripts

FAILED_EVENT: Final = "background_failed:"
"""What failed iterations are counted under in `ns:events`, followed by the job's name."""


def count_in(scripts: Scripts) -> Count:
    """Adds to the books of one job; raises a `StoreUnavailable` where Redis is away."""

    async def count(name: str, failures: int) -> None:
        await scripts.command("HINCRBY", EVENTS, f"{FAILED_EVENT}{name}", failures)

    return count
