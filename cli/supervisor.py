"""Runs several commands side by side until one of them stops or a signal asks for the end, and leaves none behind.

Honcho's own manager is not used, only its Procfile reader and its printer: the manager gives up on a process after
5 seconds, while a turn may take 60; it prints from within a signal handler, which fails when it meets another print;
and a process that ignores SIGTERM keeps it waiting for ever.
"""

import io
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import FrameType
from typing import IO, TextIO

from honcho.colour import get_colours
from honcho.printer import Message, Printer

from runtime.child import start_child
from runtime.clock import monotonic, now_ms

LAST_LINES = 15
_OWN_NAME = "nightshift"
_POLL_SECONDS = 0.1
_LONGEST_LINE = 64 * 1024
_READ_OUT_SECONDS = 2.0
_SECOND_THOUGHT_SECONDS = 1.0  # sooner than that it is the same Ctrl-C, passed on by another process


@dataclass
class _Child:
    name: str
    colour: str
    process: subprocess.Popen[bytes]
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    reader: threading.Thread | None = None

    @property
    def group_alive(self) -> bool:
        """Whether the command, or anything it has started and not waited for, still runs."""
        if self.process.poll() is None:
            return True
        return self.signal(0)

    def signal(self, number: int) -> bool:
        """Signal the whole group; False if no process is left in it."""
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
            return False
        return True


class Supervisor:
    """The commands have `grace_seconds` to end after SIGTERM, then they are killed."""

    def __init__(self, *, output: TextIO, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")  # a terminal without our letters must not stop the house
        self._printer = Printer(output)
        self._output_is_gone = False
        self._colours = get_colours()
        self._children: list[_Child] = []
        self._lines: queue.Queue[tuple[_Child, bytes]] = queue.Queue(maxsize=10_000)
        self._asked: list[tuple[signal.Signals, float]] = []

    def take_signals(self) -> None:
        """From now to the end of this process SIGINT, SIGTERM and SIGHUP are requests to stop in order."""

        # A handler that did more than take a note could meet a print or a lock of the loop it interrupts.
        def note(number: int, _frame: FrameType | None) -> None:
            self._asked.append((signal.Signals(number), monotonic()))

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, note)

    def run(
        self, commands: Mapping[str, str], *, env: Mapping[str, str], watch: Callable[[], str | None] = lambda: None
    ) -> int:
        """Run each command under `sh`; 0 if the end was asked for and came in time, else 1 and the reason shown.

        `watch` is asked all the time whether what the commands stand on is well; a text is a reason to stop.
        """
        self._printer.width = max(map(len, [_OWN_NAME, *commands]))
        reason: str | None = None
        in_time = False
        try:
            for name, command in commands.items():
                self._start(name, command, env)
            while not self._asked and (reason := self._trouble(watch)) is None:
                self._print_output()
        finally:
            in_time = self._stop()
        if reason is not None:
            self._say(f"stopped, because {reason}")
        return 0 if reason is None and in_time else 1

    def _start(self, name: str, command: str, env: Mapping[str, str]) -> None:
        process = start_child(["/bin/sh", "-c", command], env=env, output=subprocess.PIPE)
        child = _Child(name, next(self._colours), process)
        assert process.stdout is not None  # noqa: S101  it was asked for
        child.reader = threading.Thread(target=self._read, args=(child, process.stdout), daemon=True)
        child.reader.start()
        self._children.append(child)

    def _read(self, child: _Child, pipe: IO[bytes]) -> None:
        with pipe:
            for line in iter(lambda: pipe.readline(_LONGEST_LINE), b""):
                self._lines.put((child, line))

    def _trouble(self, watch: Callable[[], str | None]) -> str | None:
        if self._output_is_gone:
            return "the reader of the output is gone"
        for child in self._children:
            if (code := child.process.poll()) is not None:
                self._read_out(child)
                said = "".join(f"\n  | {line}" for line in child.last_lines) or "\n  | (it said nothing)"
                return f"{child.name} ended by itself ({_ending(code)}); its last lines:{said}"
        return watch()

    def _stop(self) -> bool:
        """End everything; whether no child had to be killed for being late."""
        if self._asked:
            self._say(f"{self._asked[0][0].name}: stopping, running turns have {self._grace_seconds:.0f} s to end")
        for child in self._children:
            child.signal(signal.SIGTERM)
        deadline = monotonic() + self._grace_seconds
        while any(child.group_alive for child in self._children) and monotonic() < deadline and not self._hurried():
            self._print_output()
        late = [child for child in self._children if child.group_alive]
        for child in late:
            self._say(f"killing {child.name}, it has not ended in time")
            child.signal(signal.SIGKILL)
            child.process.wait()
        for child in self._children:
            self._read_out(child)
        return not late

    def _hurried(self) -> bool:
        """Whether a second Ctrl-C asks to wait no longer; what was running is then taken up at the next start."""
        times = [at for number, at in self._asked if number == signal.SIGINT]
        return len(times) > 1 and times[-1] - times[0] > _SECOND_THOUGHT_SECONDS

    def _read_out(self, child: _Child) -> None:
        """Print what an ended command has said last; bounded, for a daemon of its own may keep the pipe open."""
        deadline = monotonic() + _READ_OUT_SECONDS
        while child.reader is not None and child.reader.is_alive() and monotonic() < deadline:
            self._print_output()
        while not self._lines.empty():
            self._print_output()

    def _print_output(self) -> None:
        """Print what has come in; wait a moment if nothing has."""
        with suppress(queue.Empty):
            child, line = self._lines.get(timeout=_POLL_SECONDS)
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            child.last_lines.append(text)
            self._print(child.name, child.colour, text)

    def _say(self, text: str) -> None:
        self._print(_OWN_NAME, None, text)

    def _print(self, name: str, colour: str | None, text: str) -> None:
        if self._output_is_gone:
            return
        local_time = datetime.fromtimestamp(now_ms() / 1000, UTC).astimezone()
        try:
            self._printer.write(Message(type="line", data=text, time=local_time, name=name, colour=colour))
        except OSError:
            self._output_is_gone = True


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
