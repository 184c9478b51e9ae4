"""`celery -A worker.celery_app ...`: the composition root of worker, beat and flower.

Only a worker imports `worker.tasks` and with it the house; beat and flower need neither.
"""

import importlib
import sys
import traceback
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, setup_logging

from runtime import queue
from runtime.heartbeat import start_heartbeat
from runtime.logging import configure_logging
from runtime.settings import Settings, SettingsInvalid, load_settings


def _load() -> Settings:
    try:
        return load_settings()
    except SettingsInvalid as exc:
        sys.stderr.write(f"{exc}\n")
        raise SystemExit(2) from exc


settings = _load()
app: Celery = queue.make_celery(settings)


@celeryd_init.connect
def _import_tasks(**_: Any) -> None:
    """Only a worker sends this signal; beat and flower would pay for the whole house in memory."""
    try:
        importlib.import_module("worker.tasks")
    except Exception as exc:
        # Celery logs what a signal's receiver raises and goes on: a worker without tasks that calls itself ready.
        traceback.print_exc()
        raise SystemExit(2) from exc


@beat_init.connect
def _beat_alive(**_: Any) -> None:
    start_heartbeat("beat", settings)


@setup_logging.connect
def _configure_logging(**_: Any) -> None:
    configure_logging("beat" if "beat" in sys.argv else "worker", settings)
