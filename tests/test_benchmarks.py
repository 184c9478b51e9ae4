"""Each benchmark runs, in its tiniest form, and says what it claims to; the figures themselves are not judged here."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.report import Goal, Report, ratio
from sandbox.patience import PATIENCE_SECONDS
from sandbox.stack import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the figures are read from /proc"),
]
FIGURES = {
    "ack": "receiver: signature, parse, stored",
    "turn": "Nightshift's agent, tools, 10 messages of history",
    "dispatch": "100/s: receiver, dispatcher, Celery worker",
    "flight": "50 calls of 0.5 s at once",
    "schedule": "burst is over to poke in the queue",
    "memory": "all of it, by the server's memory, without the ledger",
    "start": "the whole stack at rest, RSS",
}


def run_side_by_side(folder: Path, *shares: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The reports by name. Most of a tiny benchmark is waiting for processes to come up and to end."""
    files = [folder / f"figures-{number}.json" for number in range(len(shares))]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks", "--tiny", "--json", found, *(f"--only={name}" for name in names)],
            cwd=ROOT,
            # What forty processes import is compiled once.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for found, names in zip(files, shares, strict=True)
    ]
    # All are waited for before any is judged: none may live on.
    said = [process.communicate(timeout=4 * PATIENCE_SECONDS)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * len(running), "\n".join(text[-3000:] for text in said)
    reports = [json.loads(found.read_text(encoding="utf-8"))["benchmarks"] for found in files]
    return {report["name"]: report for share in reports for report in share}


def test_each_benchmark_measures_what_it_names(tmp_path: Path) -> None:
    reports = run_side_by_side(tmp_path, ("start", "ack"), ("dispatch", "memory"), ("schedule", "turn", "flight"))

    assert reports.keys() == BENCHMARKS.keys() == FIGURES.keys()
    for name, report in reports.items():
        rows = {row["what"]: row for row in report["rows"]}
        named = rows[FIGURES[name]]
        # So small a run may measure less than its own noise: a figure is wanted, not a good one.
        assert math.isfinite(named[next(column for column in report["rows"][0] if column != "what")])
        assert report["goals"]
        assert all(isinstance(goal["met"], bool) for goal in report["goals"])
        assert not [goal for goal in report["goals"] if "never came" in goal["what"] and goal["value"]]


def test_a_ratio_is_taken_inside_each_round() -> None:
    # The machine was ten times slower in the second round, which hit both alike.
    assert ratio([10, 1, 20], [20, 2, 40]) == 0.5


def test_goals_know_their_direction() -> None:
    report = Report("x", "X", ())
    report.at_most("small", 2, 1)
    report.at_least("large", 2, 1)

    assert [goal.met for goal in report.goals] == [False, True]
    assert Goal("exactly", 1, 1).met
