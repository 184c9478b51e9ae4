"""Reads `.env` line by line, and tells what is wrong with the file itself."""

import difflib
import io
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv.parser import parse_stream

from runtime.files.text import TextUnreadable, has_byte_order_mark, read_text
from runtime.findings import Finding, Level

ENV_FILE = Path(".env")
_CHECK = "env_file"


@dataclass(frozen=True, slots=True)
class EnvLine:
    """One assignment. `$` has no meaning in `value`."""

    name: str
    value: str
    line: int


def read_env_lines(path: Path) -> tuple[list[EnvLine], list[Finding]]:
    """The assignments with a value, in order, and what cannot be read; nothing at all if there is no such file."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        return [], []
    except TextUnreadable as exc:
        return [], [Finding(_CHECK, Level.ERROR, exc.what, exc.fix)]
    found: list[EnvLine] = []
    faults: list[Finding] = []
    for binding in parse_stream(io.StringIO(text)):
        before = len(binding.original.string) - len(binding.original.string.lstrip())
        line = binding.original.line + binding.original.string[:before].count("\n")
        if binding.error:
            what = f"{path}: line {line} cannot be read"
            faults.append(Finding(_CHECK, Level.ERROR, what, "write NAME=value, and close what is in quotes"))
        elif binding.key and binding.value:
            found.append(EnvLine(binding.key, binding.value, line))
    return found, faults


def env_file_warnings(path: Path, known: Collection[str]) -> Iterator[Finding]:
    """What spoils nothing here and should be known: who may read the file, and names that are nearly known ones."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        begins_with_mark = has_byte_order_mark(path)
    except OSError:
        return
    if mode & 0o077:
        what = f"{path} may be read by others on this machine ({mode:04o})"
        yield Finding(f"{_CHECK}.mode", Level.WARNING, what, f"run chmod 600 {path}")
    if begins_with_mark:
        what = f"{path}: line 1 begins with a byte order mark, which Docker and systemd take for a part of the name"
        yield Finding(f"{_CHECK}.mark", Level.WARNING, what, "save it as UTF-8 without a byte order mark")
    for assignment in read_env_lines(path)[0]:
        if assignment.name.upper() not in known and (near := _nearly(assignment.name, known)):
            what = f"{path}: line {assignment.line}: nothing reads {assignment.name}"
            yield Finding(f"{_CHECK}.name", Level.WARNING, what, f"rename it to {near}, if that was meant")


def lines_of(path: Path, environ: Mapping[str, str]) -> dict[str, int]:
    """Where in `path` those variables stand whose values are now in force."""
    return {found.name: found.line for found in read_env_lines(path)[0] if environ.get(found.name) == found.value}


def _nearly(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.85)
    return near[0] if near else ""
