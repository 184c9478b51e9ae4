"""`nightshift ledger`: the books, for people and for scripts."""

import asyncio
import sys

import orjson
from rich.console import Console
from rich.table import Table

from bot.outcome import Outcome
from runtime.ledger import Ledger, Sums
from runtime.redis import StoreUnavailable, connect
from runtime.scripts import Scripts
from runtime.settings import load_settings


def run(*, json: bool) -> int:
    """0 when the books balance, 1 when they do not or cannot be read."""
    url = load_settings().env.redis_url
    try:
        sums = asyncio.run(_read(url))
    except StoreUnavailable as exc:
        sys.stderr.write(
            f"The ledger cannot be read: Redis is unavailable ({exc}). Is it running, and REDIS_URL right?\n"
        )
        return 1
    if json:
        sys.stdout.write(orjson.dumps(sums.as_json()).decode() + "\n")
    else:
        _show(sums)
    return 0 if sums.balanced else 1


async def _read(url: str) -> Sums:
    client = connect(url, max_connections=2, timeout_seconds=5, client_name="nightshift-cli")
    try:
        return await Ledger(Scripts(client)).sums()
    finally:
        await client.aclose()


def _show(sums: Sums) -> None:
    table = Table(title="Ledger: every message received has one outcome, or is open", title_justify="left")
    table.add_column("")
    table.add_column("messages", justify="right")
    table.add_row("received", str(sums.received), style="bold")
    for outcome in Outcome:
        table.add_row(f"  {outcome.value}", str(getattr(sums, outcome.value)))
    table.add_row("  open", str(sums.open))
    console = Console()
    console.print(table)
    if sums.open:
        console.print(f"The oldest open message has waited for {sums.oldest_open_seconds} s.")
    console.print("The books balance." if sums.balanced else "[bold red]The books do NOT balance.[/]")
