"""The report for a terminal: one table per question, with bars."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table

BAR = 24


def show_report(report: Mapping[str, Any], *, since: datetime, until: datetime) -> None:
    console = Console()
    console.print(f"[bold]Report[/] {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} ({until:%Z})")
    if not report["complete"]:
        console.print("Older records of the span are gone: the stream holds a limited number of turns.")
    if not report["turns"] + report["superseded_turns"]:
        console.print("No turn has asked a model in this span.")
        return
    _summary(console, report)
    _bars(console, "What caught it", report["caught_by_rule"], report["attempts"])
    _bars(console, "Which rung rescued it", report["rescued_by_rung"], report["turns"])
    _bars(console, "Why the stub was said", report["stubs_by_rule"], report["turns"])
    for title, key in (("By model", "by_model"), ("By provider", "by_provider"), ("By prompt version", "by_prompt")):
        _calls(console, title, report[key])
    _stages(console, report["by_stage"])
    _topics(console, report["uncovered_topics"])
    if report["failed_turns"]:
        console.print("Thoughts of failed turns, for seven days: nightshift report reasoning TURN")
        console.print("  " + " ".join(report["failed_turns"]), highlight=False)


def _summary(console: Console, report: Mapping[str, Any]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(min_width=34)
    table.add_column(justify="right")
    table.add_column()
    turns, attempts = report["turns"], report["attempts"]
    cost, wasted = report["cost_usd"], report["cost_of_silence_usd"]
    troubled, stubs = report["turns_with_silence"], report["stubs"]
    rows: list[tuple[str, str, float | None]] = [
        ("turns", str(turns), None),
        ("attempts", str(attempts), None),
        ("  silent", str(report["silent_attempts"]), report["silence_share"]),
        ("  failed calls", str(report["failed_calls"]), _share(report["failed_calls"], attempts)),
        ("turns with a silence or a failure", str(troubled), _share(troubled, turns)),
        ("  rescued", str(report["rescued"]), _share(report["rescued"], turns)),
        ("  stubs", f"{stubs} ({report['stubs_per_1000']} per 1000)", _share(stubs, turns)),
        ("partial answers", str(report["partial"]), _share(report["partial"], turns)),
        ("salvaged replies", str(report["salvaged"]), _share(report["salvaged"], turns)),
        ("replies with a tag missing", str(report["tag_misses"]), _share(report["tag_misses"], turns)),
        ("cost, USD", f"{cost:.4f}", None),
        ("  of it for silence", f"{wasted:.4f}", _share(wasted, cost)),
        ("prompt tokens from the cache", "", report["cache_share"]),
        ("completion tokens spent on thoughts", "", report["reasoning_share"]),
        ("first byte, p50 / p95 s", _pair(report["first_byte_seconds"]), None),
        ("whole thinking, p50 / p95 s", _pair(report["turn_seconds"]), None),
        ("to delivery, p50 / p95 s", _pair(report["delivered_seconds"]), None),
    ]
    for name, value, part in rows:
        table.add_row(name, value, "" if part is None else f"{bar(part)} {part:.1%}")
    console.print(table)


def _bars(console: Console, title: str, counts: Mapping[str, int], whole: int) -> None:
    if not counts:
        return
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(min_width=24)
    table.add_column(justify="right")
    table.add_column()
    for name, count in counts.items():
        part = count / whole if whole else 0.0
        table.add_row(name or "?", str(count), f"{bar(part)} {part:.1%}")
    console.print(table)


def _calls(console: Console, title: str, sums: Mapping[str, Mapping[str, Any]]) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in ("attempts", "silent", "failed", "USD", "cache", "thoughts", "first byte p50/p95"):
        table.add_column(name, justify="right")
    for name, f in sums.items():
        table.add_row(
            name, str(f["attempts"]), f"{f['silent_attempts']} ({_percent(f['silence_share'])})",
            str(f["failed_calls"]), f"{f['cost_usd']:.4f}", _percent(f["cache_share"]), _percent(f["reasoning_share"]),
            _pair(f["first_byte_seconds"]),
        )  # fmt: skip
    console.print(table)


def _stages(console: Console, stages: Mapping[str, Mapping[str, int]]) -> None:
    table = Table(title="By stage", title_justify="left", box=None, pad_edge=False)
    for name in ("", "turns", "stubs", "tag misses"):
        table.add_column(name, justify="right" if name else "left")
    for name, counts in stages.items():
        table.add_row(name, str(counts["turns"]), str(counts["stubs"]), str(counts["tag_misses"]))
    console.print(table)


def _topics(console: Console, topics: list[dict[str, Any]]) -> None:
    if not topics:
        return
    title = "Uncovered topics: small talk that met no script and no tool"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("turns", justify="right")
    table.add_column("words (stems)")
    for topic in topics:
        table.add_row(str(topic["turns"]), ", ".join(topic["words"]))
    console.print(table)


def bar(part: float) -> str:
    """A bar of at most `BAR` characters; what is there at all shows at least a sliver."""
    filled = min(max(round(part * BAR), 1 if part > 0 else 0), BAR)
    return "█" * filled + "·" * (BAR - filled)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.0%}"


def _pair(values: Mapping[str, float | None]) -> str:
    return " / ".join("-" if values[p] is None else f"{values[p]:.1f}" for p in ("p50", "p95"))
