"""Runs one of Celery's commands by itself: its umbrella imports all of them, a shell and every plug-in.

That is 10 MB in each process that uses one.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from celery.bin.base import CLIContext

STARTED_ANEW = "_NIGHTSHIFT_WORKER_STARTED_ANEW"
"""Set by a worker that gives up, for the process that it becomes (worker/__main__.py, worker/process.py)."""


def make_folder(folder: Path) -> None:
    """End the process when a place to remember something cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        sys.stderr.write(f"Nightshift cannot start:\n  - {folder} cannot be made: {exc.strerror}\n")
        raise SystemExit(1) from None


def run_command(command: click.Command, arguments: Sequence[str]) -> int:
    """The command's exit code. The process has been checked by then (`runtime.start`)."""
    app: Any = importlib.import_module("worker.celery_app").app
    context = CLIContext(app=app, no_color=bool(os.environ.get("NO_COLOR")), workdir=None, quiet=False)
    umbrella = click.Context(click.Group("celery"), obj=context)
    return command.main(list(arguments), command.name, standalone_mode=False, parent=umbrella) or 0
