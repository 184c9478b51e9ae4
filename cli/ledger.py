"""`nightshift ledger`: the books, for people and for scripts."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson

from bot.outcome import Outcome
from cli.ledger_words import duration, why_open
from cli.store import settings_with_store
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect
from store.ledger import DaySums, Ledger, OpenMessage, Sums
from store.ledger_checks import Fault, verify
from store.scripts import Scripts

_FAULTS = {
    "not_in_inbox": "is open, and in no inbox: no turn will ever answer it",
    "not_open": "waits in the inbox, and is not counted as open",
    "not_due": "has open messages, and is not in the schedule: no turn will come for it",
}


@dataclass(frozen=True, slots=True)
class Books:
    sums: Sums
    days: list[DaySums]
    open: list[OpenMessage]
    faults: list[Fault] | None


def run(*, json: bool, open_: bool = False, days: int = 7, check: bool = False) -> int:
    """0 when the books balance, 1 when they do not or cannot be read, 2 for options that contradict each other."""
    if json and (open_ or check):
        sys.stderr.write("--json prints the sums alone; it goes with neither --open nor --verify\n")
        return 2
    settings = settings_with_store()
    try:
        books = asyncio.run(_read(settings, days=0 if json else days, opened=not json, check=check))
    except StoreUnavailable as exc:
        return unreadable(exc)
    if json:
        sys.stdout.write(orjson.dumps(books.sums.as_json()).decode() + "\n")
    else:
        _show(books, settings, each_open=open_)
    return 0 if books.sums.balanced and not books.faults else 1


def unreadable(exc: StoreUnavailable) -> int:
    sys.stderr.write(f"The ledger cannot be read: Redis is unavailable ({exc}). Is it running, and REDIS_URL right?\n")
    return 1


@asynccontextmanager
async def open_scripts(settings: Settings) -> AsyncIterator[Scripts]:
    client = connect(settings.env.redis_url, max_connections=2, timeout_seconds=5, client_name="nightshift-cli")
    try:
        yield Scripts(client)
    finally:
        await client.aclose()


async def _read(settings: Settings, *, days: int, opened: bool, check: bool) -> Books:
    async with open_scripts(settings) as scripts:
        ledger = Ledger(scripts)
        sums, day_sums = await ledger.sums_and_days(days)
        messages = [message async for message in ledger.open_messages()] if opened and sums.open else []
        faults = [fault async for fault in verify(scripts)] if check else None
    return Books(sums, day_sums, messages, faults)


def _show(books: Books, settings: Settings, *, each_open: bool) -> None:
    from rich.console import Console  # a third of a second that --json does not need

    console = Console(highlight=False)
    sums = books.sums
    console.print(_table_of_sums(sums, books.days))
    if books.open:
        _show_open(books.open, settings, each=each_open)
    if books.faults is not None:
        for fault in books.faults:
            print(f"{fault.conversation_id} {fault.key or '(conversation)'} {_FAULTS.get(fault.what, fault.what)}")
        print("Inboxes, open messages and schedule agree." if not books.faults else f"{len(books.faults)} faults.")
    if sums.balanced:
        print("The books balance.")
    else:
        print(f"The books do NOT balance: {_difference(sums.difference)}.")


def _difference(n: int) -> str:
    if n > 0:
        return f"{n} received message(s) are neither open nor have an outcome"
    return f"there are {-n} more open messages and outcomes than were received"


def _table_of_sums(sums: Sums, days: Sequence[DaySums]) -> object:
    from rich.box import SIMPLE
    from rich.table import Table

    columns = ["received", *(outcome.value for outcome in Outcome)]
    table = Table(
        title="Every message received has one outcome, or is open (days are UTC)", title_justify="left", box=SIMPLE
    )
    table.add_column("day, account", no_wrap=True)
    for column in [*columns, "open"]:
        table.add_column(column.replace("_", " "), justify="right")
    for row in days:
        cells = [str(row.counts.get(column, 0)) for column in columns]
        table.add_row(f"{row.day:%Y-%m-%d} {row.channel} {row.account}", *cells, "")
    total = [str(getattr(sums, column)) for column in columns]
    table.add_row("all time kept", *total, str(sums.open), style="bold")
    return table


def _show_open(messages: Sequence[OpenMessage], settings: Settings, *, each: bool) -> None:
    zone = settings.config.business.timezone
    print(f"Open, the oldest for {duration(messages[0].waited_seconds)}:")
    if each:
        for message in messages:
            print(
                f"  {message.conversation_id} {message.key}  {duration(message.waited_seconds):>12}  "
                f"{why_open(message, zone)}"
            )
        return
    for reason, count in Counter(why_open(message, zone, when=False) for message in messages).most_common():
        print(f"  {count:>6}  {reason}")
    print("  (--open lists them, `nightshift ledger why` explains one)")
