"""Each benchmark runs, in its tiniest form, and says what it claims to; the figures themselves are not judged here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import Goal, Report, ratio
from sandbox.stack import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
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


@pytest.fixture(scope="session", params=FIGURES)
def benchmark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = tmp_path_factory.mktemp("bench") / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--tiny", "--only", request.param, "--json", str(found)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    (only,) = json.loads(Path(found).read_text(encoding="utf-8"))["benchmarks"]
    report: dict[str, Any] = only
    return report


def test_each_benchmark_measures_what_it_names(benchmark: dict[str, Any]) -> None:
    rows = {row["what"]: row for row in benchmark["rows"]}
    first = benchmark["rows"][0]
    named = rows[FIGURES[benchmark["name"]]]

    assert named[next(column for column in first if column != "what")] > 0
    assert benchmark["goals"]
    assert all(isinstance(goal["met"], bool) for goal in benchmark["goals"])
    assert not [goal for goal in benchmark["goals"] if "never came" in goal["what"] and goal["value"]]


def test_a_ratio_is_taken_inside_each_round() -> None:
    # The machine was ten times slower in the second round, which hit both alike.
    assert ratio([10, 1, 20], [20, 2, 40]) == 0.5


def test_goals_know_their_direction() -> None:
    report = Report("x", "X", ())
    report.at_most("small", 2, 1)
    report.at_least("large", 2, 1)

    assert [goal.met for goal in report.goals] == [False, True]
    assert Goal("exactly", 1, 1).met
