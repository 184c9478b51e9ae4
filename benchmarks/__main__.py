"""`python -m benchmarks [--quick] [--json FILE] [--only NAME] [--peers PYTHON]`."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from benchmarks import ack, dispatch, flight, memory, schedule, start, turn
from benchmarks.processes import Noise
from benchmarks.report import Report, Scale, as_json, machine, show, versions

BENCHMARKS: Mapping[str, Callable[[Scale, Path], Report]] = {
    "ack": ack.run,
    "turn": turn.run,
    "dispatch": dispatch.run,
    "flight": flight.run,
    "schedule": schedule.run,
    "memory": memory.run,
    "start": start.run,
}


def measure(name: str, scale: Scale) -> Report:
    """One benchmark in a folder of its own, with the time it took and what the rest of the machine did."""
    noise, began = Noise(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nightshift-bench-") as folder:
        report = BENCHMARKS[name](scale, Path(folder))
    report.others_cores, report.seconds = noise.cores(), time.monotonic() - began
    return report


def main() -> int:
    """0 when everything was measured, whether or not every goal is met: figures are the answer, not a verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Nightshift against its floor.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="scale", action="store_const", const="quick", help="under two minutes in all")
    size.add_argument("--tiny", dest="scale", action="store_const", const="tiny", help="only see that it runs")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="may be given several times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--peers", default="", metavar="PYTHON", help="an interpreter that has the peers installed")
    parser.set_defaults(scale="full")
    arguments = parser.parse_args()
    if not sys.platform.startswith("linux"):
        parser.error("the figures are read from /proc, which only Linux has")
    scale = Scale(arguments.scale, arguments.peers)
    console = Console(width=max(Console().width, 130), soft_wrap=True)
    console.print(f"{machine()} {versions()}", style="dim")
    reports = []
    for name in arguments.only or BENCHMARKS:
        reports.append(measure(name, scale))
        show(reports[-1:], console)
    goals = [goal for report in reports for goal in report.goals if not goal.stretch]
    console.print(f"{sum(goal.met for goal in goals)} of {len(goals)} goals met, scale {scale.name}")
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(reports, scale), indent=2, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
