"""`python -m worker.flower`: Celery's Flower, read-only and behind a password."""

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flower.app import Flower
from flower.command import flower

from runtime.logging import configure_logging
from runtime.settings import Environment
from runtime.start import WRONG_CONFIGURATION, start_process
from worker.process.commands import make_folder, run_command
from worker.process.flower_broker import read_queues_by_our_client

STATE = Path("var/flower/state")
INSPECT_TIMEOUT_MS = 5_000  # Flower's own 1000 calls a busy worker unknown
STATE_SAVE_INTERVAL_MS = 60_000
INQUIRIES = 1  # at once, of its workers: each takes two of Celery's connections, which are three of Redis's each
MAX_TASKS = 10_000  # the state is one pickle, written whole; 100 000 tasks make that slow


class FlowerUnprotected(Exception):
    """Flower would show the queues to any stranger who finds the port."""


def check_auth(env: Environment) -> None:
    """Raise `FlowerUnprotected` unless there is a password (its form was checked before), or this is no production."""
    if not env.flower_basic_auth.get_secret_value() and env.app_env == "production":
        raise FlowerUnprotected("FLOWER_BASIC_AUTH is not set; set it as user:password (or APP_ENV=development)")


def command_line(env: Environment, environ: Mapping[str, str]) -> list[str]:
    """The password is not among these arguments, which any user of the machine can read; Flower takes it from the
    environment. So it does FLOWER_ADDRESS, which a container needs; elsewhere only this machine gets in."""
    address = environ.get("FLOWER_ADDRESS") or "127.0.0.1"
    return [
        f"--port={env.flower_port}",
        f"--address={address}",
        "--read_only=True",
        "--persistent=True",
        f"--db={STATE}",
        f"--state_save_interval={STATE_SAVE_INTERVAL_MS}",
        f"--max_tasks={MAX_TASKS}",
        # What an operator looks for: which conversation, and what became of it.
        "--tasks_columns=name,args,result,state,received,started,runtime,worker,uuid",
        f"--inspect_timeout={INSPECT_TIMEOUT_MS}",
    ]


def bound_connections(app: Any) -> None:
    """Flower asks its workers in four threads and more, which took 21 connections, of the 30 that a small plan has."""
    Flower.max_workers = INQUIRIES
    # One asks with a connection while it waits for the answers with another: with fewer they would wait for each other.
    app.conf.broker_pool_limit = 2 * INQUIRIES


def main() -> None:
    settings = start_process("flower")
    env = settings.env
    try:
        check_auth(env)
    except FlowerUnprotected as exc:
        sys.stderr.write(f"Nightshift cannot start:\n  - {exc}\n")
        sys.exit(WRONG_CONFIGURATION)
    configure_logging("flower", settings)
    make_folder(STATE.parent)
    composed: Any = importlib.import_module("worker.celery_app")
    # Flower reads every FLOWER_ variable and takes an empty one for a value: no port, an empty password.
    for name in [name for name, value in os.environ.items() if name.startswith("FLOWER_") and not value]:
        del os.environ[name]
    bound_connections(composed.app)
    read_queues_by_our_client(composed.settings, composed.app.conf.broker_transport_options["global_keyprefix"])
    sys.exit(run_command(flower, command_line(env, os.environ)))


if __name__ == "__main__":
    main()
