"""Starts the processes of a benchmark, and reads from /proc what they and the rest of the machine have used."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from runtime.child import start_child
from sandbox.stack import ROOT

TICKS = os.sysconf("SC_CLK_TCK")
MEGABYTE = 1024 * 1024


@contextmanager
def started(
    command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with the block; what it says goes to the file `log`."""
    with log.open("ab") as output:
        process = start_child(command, env={**os.environ, **(env or {})}, cwd=ROOT, output=output)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers(url: str, process: "subprocess.Popen[bytes]", *, log: Path, seconds: float = 30) -> None:
    """Wait until `url` answers anything at all; raise `RuntimeError` with the log when `process` ends instead."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            httpx.get(url, timeout=2, trust_env=False, verify=False)  # noqa: S501 - a certificate made for this run
        except httpx.HTTPError as exc:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no server answers on {url}:\n{log.read_text(errors='replace')[-2000:]}") from exc
            time.sleep(0.02)
        else:
            return


def run_json(command: Sequence[str], *, env: Mapping[str, str] | None = None, seconds: float = 300) -> Any:
    """What a helper process prints as JSON on its last line; raise `RuntimeError` with its words when it fails."""
    done = subprocess.run(  # noqa: S603 - our own command
        list(command), env={**os.environ, **(env or {})}, cwd=ROOT, capture_output=True, check=False, timeout=seconds
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[-4:])} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def python(module: str, *arguments: object, interpreter: str = sys.executable) -> list[str]:
    return [interpreter, "-m", module, *map(str, arguments)]


def cpu_seconds(*pids: int) -> float:
    """CPU that these processes and their ended children have used; steady to about a hundredth of a second."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in pids) / TICKS


def pin(core: int, *pids: int) -> None:
    """Keep these processes and all their threads on one core, if the machine has it."""
    if core in os.sched_getaffinity(0):
        for pid in pids:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {core})


def tree(pid: int) -> list[int]:
    """`pid` and all that descends from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def rss_megabytes(pid: int | str) -> float:
    return (
        int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    )


def pss_megabytes(pid: int | str) -> float:
    """As RSS, but memory shared by several processes counts in parts."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def reset_peak(pid: int | str) -> None:
    """From now on `peak_megabytes` knows no earlier peak."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def peak_megabytes(pid: int | str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


class Noise:
    """How much CPU everybody else on the machine used between two moments, in cores."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _busy_seconds()
        self._ours = _our_seconds()

    def cores(self) -> float:
        seconds = time.monotonic() - self._began
        others = (_busy_seconds() - self._busy) - (_our_seconds() - self._ours)
        return max(others, 0.0) / max(seconds, 0.001)


def _busy_seconds() -> float:
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS


def _our_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in tree(os.getpid())[1:]:
        try:
            total += cpu_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def _stat(pid: int) -> list[str]:
    """The fields after the name: state, parent, ...; user and system time are the 12th and 13th."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
