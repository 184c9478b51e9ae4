"""Reads `.env`, and writes the first one from `.env.example`."""

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.files.env import ENV_FILE, read_env_lines
from runtime.files.private import write_private
from runtime.settings import refuse_errors

EXAMPLE_FILE = Path(".env.example")

MADE_UP: Mapping[str, Callable[[], str]] = {
    "META_VERIFY_TOKEN": lambda: secrets.token_urlsafe(24),
    "TELEGRAM_WEBHOOK_SECRET": lambda: secrets.token_urlsafe(32),
    "FLOWER_BASIC_AUTH": lambda: f"nightshift:{secrets.token_urlsafe(18)}",
    "VALKEY_PASSWORD": lambda: secrets.token_hex(24),
}
"""Secrets that no other party has to know beforehand, so a random one will do."""


@dataclass(frozen=True)
class Variable:
    """A line of `.env.example`: its value there and the comment above it."""

    name: str
    value: str
    explanation: str


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of `path` that have a value; none if there is no such file. `$` has no meaning in it.

    Raise `SettingsInvalid` when it cannot be read, whole or in a line.
    """
    lines, faults = read_env_lines(path)
    refuse_errors(faults)
    return {line.name: line.value for line in lines}


def merged_environment(path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` over the file; an empty variable counts as not set in either."""
    return {**environ, **read_env_file(path), **{name: value for name, value in environ.items() if value}}


def adopt_env_file() -> None:
    """Make `.env` part of this process's environment, for a command that reads the settings."""
    os.environ.update(merged_environment(ENV_FILE, os.environ))


def read_example(path: Path) -> list[Variable]:
    """Every variable of `.env.example`, in order, with the comment above it; neighbours may share one."""
    found: list[Variable] = []
    comment: list[str] = []
    above = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if line.startswith("#"):
            if not above.startswith("#"):
                comment = []
            if not line.startswith("# ---"):
                comment.append(line.removeprefix("#").strip())
        elif equals:
            found.append(Variable(name, value, " ".join(comment)))
        else:
            comment = []
        above = line
    return found


def write_first_env_file(example: Path, target: Path) -> bool:
    """Copy the example with fresh secrets, readable by its owner alone. False, and nothing done, if `target` exists."""
    if target.exists():
        return False
    lines = (_filled(line) for line in example.read_text(encoding="utf-8").splitlines(keepends=True))
    unfinished = target.with_name(f"{target.name}.unfinished")
    write_private(unfinished, "".join(lines))
    try:
        os.link(unfinished, target)  # whole or not at all, and never over another's
    except FileExistsError:
        return False
    finally:
        unfinished.unlink()
    return True


def _filled(line: str) -> str:
    name, equals, value = line.partition("=")
    if equals and not value.strip() and name in MADE_UP:
        return f"{name}={MADE_UP[name]()}\n"
    return line
