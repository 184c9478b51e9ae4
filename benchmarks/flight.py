"""Many at once: model calls in flight on one client, and whole turns in flight in one worker process, over TLS."""

import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.dispatch import arrivals
from benchmarks.posts import ENVIRONMENT
from benchmarks.processes import cpu_seconds, peak_megabytes, python, run_json, started
from benchmarks.report import Report, Scale, median, spread
from benchmarks.turn import other_side
from sandbox.stack import Stack


def run(scale: Scale, directory: Path) -> Report:
    report = Report(
        "flight",
        "Model calls and whole turns in flight in one process",
        ("wall s", "range", "x ideal", "CPU ms each", "peak MB", "KiB each", "loop stall s"),
    )
    _calls(scale, directory, report)
    certificate = _certificate(directory)
    if certificate is None:
        report.notes.append("Whole turns over TLS: skipped, the openssl command that makes a certificate is missing.")
    else:
        _turns(scale, directory, report, certificate)
    return report


def _calls(scale: Scale, directory: Path, report: Report) -> None:
    count, seconds = scale.count(tiny=50, quick=1000, full=1000), scale.of(tiny=0.5, quick=5, full=5)
    with other_side(directory) as url:
        runs: list[dict[str, Any]] = [
            run_json(python("benchmarks.programs.calls", f"{url}/wait/{seconds}", count))
            for _ in range(scale.count(tiny=1, quick=1, full=5))
        ]
    figures = {name: [run[name] for run in runs] for name in runs[0]}
    wall = figures["wall_seconds"]
    report.row(
        f"{count} calls of {seconds:g} s at once",
        median(wall),
        spread(wall),
        median(wall) / seconds,
        median(figures["cpu_ms"]),
        median(figures["peak_mb"]),
        median(figures["kib"]),
        median(figures["stall_seconds"]),
    )
    report.at_most(f"{count} calls, wall against ideal", median(wall) / seconds, 1.2)
    report.at_most("longest stall of the loop, seconds", median(figures["stall_seconds"]), 0.5)
    report.at_most("memory of a waiting call, KiB", median(figures["kib"]), 32)
    report.at_most("CPU of a call, ms", median(figures["cpu_ms"]), 2)


def _turns(scale: Scale, directory: Path, report: Report, certificate: tuple[Path, Path]) -> None:
    count, seconds = scale.count(tiny=20, quick=500, full=500), scale.of(tiny=0.5, quick=10, full=10)
    rounds = scale.count(tiny=1, quick=1, full=3)
    steady = _in_flight(directory, certificate, count, seconds, rate=count / seconds, rounds=rounds)
    ideal = 2 * seconds
    name = f"{count} whole turns of {seconds:g} s over TLS, worker -c {count}"
    _tell(report, f"{name}, arriving within {seconds:g} s", steady, ideal)
    if scale.name == "full":
        burst = _in_flight(directory, certificate, count, seconds, rate=0, rounds=rounds)
        _tell(report, f"{name}, arriving at once", burst, seconds)
    report.at_least(f"{count} whole turns in flight, part of the ideal rate", ideal / median(steady["wall"]), 0.9)
    report.at_most(f"peak memory of the worker with {count} turns, MB", median(steady["peak"]), 200)
    report.at_most("turns whose answer never came", sum(steady["missing"]), 0)


def _tell(report: Report, name: str, runs: dict[str, list[float]], ideal: float) -> None:
    wall, cpu, peak = runs["wall"], median(runs["cpu"]), median(runs["peak"])
    report.row(name, median(wall), spread(wall), median(wall) / ideal, cpu, peak, "", "")


def _in_flight(
    directory: Path, certificate: tuple[Path, Path], count: int, seconds: float, *, rate: float, rounds: int
) -> dict[str, list[float]]:
    """Wall seconds from the first POST to the last answer, CPU ms a turn, peak MB, answers that never came."""
    runs: dict[str, list[float]] = {"wall": [], "cpu": [], "peak": [], "missing": []}
    for _ in range(rounds):
        with ExitStack() as stack:
            url = stack.enter_context(other_side(directory, *certificate, scheme="https"))
            environment = {
                "LLM_API_URL": f"{url}/wait/{seconds}",
                "GRAPH_API_URL": url,
                "INSTAGRAM_API_URL": url,
                "SSL_CERT_FILE": str(certificate[0]),
                **ENVIRONMENT,
            }
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=directory)))
            house = stack.enter_context(
                Stack(folder, processes=("web", "dispatcher"), quiet=0, max_wait=0, budget=90, environment=environment)
            )
            log = folder / "worker.log"
            worker = stack.enter_context(started(python("worker", "-c", count), log=log, env=house.environment))
            house.wait_for(partial(_is_ready, log), "the worker to be ready")
            before = cpu_seconds(worker.pid)
            posts = (count, 1) if rate else (max(count // 10, 1), 10)
            began = run_json(python("benchmarks.programs.pace", house.web_port, rate, *posts))["began"]
            arrived = arrivals(url, began, seconds=seconds * 6 + 20, verify=False)
            answered = [arrived[who] for who in began if who in arrived]
            runs["wall"].append(max(answered) - min(began.values()))
            runs["cpu"].append((cpu_seconds(worker.pid) - before) / count * 1000)
            runs["peak"].append(peak_megabytes(worker.pid))
            runs["missing"].append(len(began) - len(answered))
    return runs


def _is_ready(log: Path) -> bool:
    return b"worker_ready" in log.read_bytes()


def _certificate(directory: Path) -> tuple[Path, Path] | None:
    """A certificate for 127.0.0.1 that lives as long as this run."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    subprocess.run(  # noqa: S603 - fixed words and our own paths
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
