"""`nightshift report reasoning TURN`: the raw thoughts of a failed turn, while they are kept."""

import asyncio
import re
import sys
from typing import Any

import orjson

from cli.ledger import open_scripts
from cli.report import unreadable
from cli.store import settings_with_store
from runtime.settings import Settings
from store.connection import StoreUnavailable
from store.telemetry import read_generations, read_thoughts

_RECORD_ID = re.compile(r"\d{1,19}-\d{1,19}")


def run(*, turn: str) -> int:
    """0, 1 when nothing is kept any more or Redis cannot be read, 2 for an id that is none."""
    if not _RECORD_ID.fullmatch(turn):
        sys.stderr.write(f"{turn!r} is no turn; `nightshift report` names the failed ones, like 1764500000000-0\n")
        return 2
    settings = settings_with_store()
    try:
        thoughts, generations = asyncio.run(_read(settings, turn))
    except StoreUnavailable as exc:
        return unreadable(exc)
    if thoughts is None and not generations:
        sys.stderr.write("Nothing is kept of this turn: only failed attempts are, and for seven days.\n")
        return 1
    for thought in thoughts or ():
        sys.stdout.write(f"--- {thought['rung']}, step {thought['step']}: {thought['rule']}\n{thought['text']}\n")
    for generation in generations:
        sys.stdout.write(f"--- the provider's own record: {orjson.dumps(generation).decode()}\n")
    return 0


async def _read(settings: Settings, turn: str) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    async with open_scripts(settings) as scripts:
        return await read_thoughts(scripts, turn), await read_generations(scripts, turn)
