"""A rehearsal for people: the list of faults, the bar while it plays, the table at its end."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bot.outcome import Outcome
from rehearsal.checker import Broken
from rehearsal.faults.catalogue import CATALOGUE
from rehearsal.report import Report
from rehearsal.run import Progress as Moment

WIDE = 140
_SHORT = {
    Outcome.ANSWERED.value: "answered",
    Outcome.HANDED_OVER.value: "handed",
    Outcome.SILENCED.value: "silenced",
    Outcome.UNDELIVERABLE.value: "undeliv.",
    Outcome.EXPIRED.value: "expired",
    "open": "open",
}


def show_catalogue() -> None:
    table = Table(title=f"{len(CATALOGUE)} faults", title_justify="left")
    for column in ("fault", "where", "what happens", "may end as"):
        table.add_column(column)
    for fault in CATALOGUE.values():
        table.add_row(fault.name, fault.kind, fault.says, ", ".join(sorted(fault.ends)))
    _console().print(table)


def _console() -> Console:
    """Into a file or a pipe the tables are as wide as their words."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


@contextmanager
def progress_bar() -> Iterator[Callable[[Moment], None]]:
    """On stderr, so that stdout holds the result alone; nothing is drawn where no terminal is."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[messages]} messages{task.fields[open]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("starting", total=1.0, messages=0, open="")

        def show(moment: Moment) -> None:
            waiting = "" if moment.open is None else f", {moment.open} open"
            bar.update(task, description=moment.phase, completed=moment.share, messages=moment.messages, open=waiting)

        yield show


def show_report(report: Report) -> None:
    console = _console()
    outcomes = [name for name in _SHORT if report.outcomes.get(name)]
    table = Table(title=f"Rehearsal, seed {report.seed}", title_justify="left")
    table.add_column("fault", no_wrap=True)
    for heading in ("in", *(_SHORT[name] for name in outcomes), "slowest", "broken"):
        table.add_column(heading, justify="right")
    for row in report.rows:
        table.add_row(
            row.fault,
            str(row.messages),
            *(str(row.outcomes.get(name) or "") for name in outcomes),
            f"{row.slowest_seconds:.1f} s",
            str(row.broken or ""),
            style="red" if row.broken else "",
        )
    table.add_section()
    table.add_row(
        f"{report.conversations} conversations",
        str(report.messages),
        *(str(report.outcomes.get(name, 0)) for name in outcomes),
        f"{report.slowest_seconds:.1f} s",
        str(len(report.broken)),
        style="bold",
    )
    console.print(table)
    console.print(f"lost {report.lost}, doubled {report.doubled}, slowest {report.slowest_seconds:.1f} s")
    for note in report.notes:
        console.print(f"note: {note}", highlight=False)
    if not report.broken:
        console.print("[bold green]Every promise was kept.[/]")
        return
    console.print(f"[bold red]{len(report.broken)} broken promise(s):[/]")
    for finding, messages in _together(report.broken):
        where = f", conversation {finding.conversation}" if finding.conversation else ""
        times = f", {messages} messages" if messages > 1 else ""
        sys.stdout.write(f"- {finding.promise}: {finding.what} [{finding.fault or 'the system'}{where}{times}]\n")
        sys.stdout.write(f"  see {report.see(finding)}\n")
    sys.stdout.write(
        "A story holds each message's steps; `nightshift ledger why MID` tells them while the Redis runs.\n"
    )


def _together(broken: Sequence[Broken]) -> list[tuple[Broken, int]]:
    """Messages of one conversation that met the same end are one line."""
    same = Counter(replace(finding, mid="") for finding in broken)
    return list(same.items())
