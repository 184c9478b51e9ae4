"""`celery -A worker.celery_app ...`: the composition root of worker, beat and flower.

Only a worker imports `worker.tasks` and with it the house; beat and flower need neither.
"""

import importlib
import sys
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, setup_logging

from runtime import queue
from runtime.logging import configure_logging
from runtime.settings import Settings, SettingsInvalid
from runtime.start import WRONG_CONFIGURATION, process_name, process_settings
from store.heartbeat import start_heartbeat
from worker.process.start_failure import or_end


def _load() -> Settings:
    try:
        return process_settings()
    except SettingsInvalid as exc:
        sys.stderr.write(f"{exc}\n")
        raise SystemExit(WRONG_CONFIGURATION) from exc


settings = _load()
app: Celery = queue.make_celery(settings)


@celeryd_init.connect
@or_end
def _import_tasks(**_: Any) -> None:
    """Only a worker sends this signal; beat and flower would pay for the whole house in memory."""
    importlib.import_module("worker.tasks")


@beat_init.connect
@or_end
def _beat_alive(**_: Any) -> None:
    start_heartbeat("beat", settings)


@setup_logging.connect
@or_end
def _configure_logging(**_: Any) -> None:
    configure_logging(process_name("worker"), settings)
