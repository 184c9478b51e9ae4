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

from runtime.files.private import UMASK, make_private
from store.server.start import refuse_unfit_store, say_nothing

STARTED_ANEW = "_NIGHTSHIFT_WORKER_STARTED_ANEW"
"""Set by a worker that gives up, for the process that it becomes (worker/__main__.py, worker/process/process.py)."""


def make_folder(folder: Path) -> None:
    """A place to remember something, for this process's user alone; end the process when it cannot be made."""
    os.umask(UMASK)
    try:
        make_private(folder)
    except OSError as exc:
        sys.stderr.write(f"Nightshift cannot start:\n  - {folder} cannot be made: {exc.strerror}\n")
        raise SystemExit(1) from None


def run_command(command: click.Command, arguments: Sequence[str], *, anew: bool = False) -> int:
    """The command's exit code. The process has been checked by then (`runtime.start`).

    A Redis that cannot be served with ends it with code 2, unless the process begins `anew` after an outage: what is
    wrong with it then (a primary that is a replica now) may pass like any other.
    """
    composed: Any = importlib.import_module("worker.celery_app")
    app: Any = composed.app
    if not anew:
        refuse_unfit_store(composed.settings, warn=say_nothing)  # web and the dispatcher say it
    context = CLIContext(app=app, no_color=bool(os.environ.get("NO_COLOR")), workdir=None, quiet=False)
    umbrella = click.Context(click.Group("celery"), obj=context)
    return command.main(list(arguments), command.name, standalone_mode=False, parent=umbrella) or 0
