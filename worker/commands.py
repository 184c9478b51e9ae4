"""Runs one of Celery's commands by itself: its umbrella imports all of them, a shell and every plug-in.

That is 10 MB in each process that uses one.
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any

import click
from celery.bin.base import CLIContext

from runtime.store_start import refuse_unfit_store, say_nothing


def run_command(command: click.Command, arguments: Sequence[str], *, anew: bool = False) -> int:
    """The command's exit code. Here the environment is read; a wrong one ends the process with code 2.

    So does a Redis that cannot be served with, unless the process begins `anew` after an outage: what is wrong with it
    then (a primary that is a replica now) may pass like any other.
    """
    composed: Any = importlib.import_module("worker.celery_app")
    app: Any = composed.app
    if not anew:
        refuse_unfit_store(composed.settings, warn=say_nothing)  # web and the dispatcher say it
    context = CLIContext(app=app, no_color=bool(os.environ.get("NO_COLOR")), workdir=None, quiet=False)
    umbrella = click.Context(click.Group("celery"), obj=context)
    return command.main(list(arguments), command.name, standalone_mode=False, parent=umbrella) or 0
