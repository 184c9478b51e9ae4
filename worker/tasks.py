"""The Celery tasks and the life of the worker process. Tasks carry ids, and return the word that Flower shows."""

import concurrent.futures
import sys
from typing import Any

from celery.signals import (
    heartbeat_sent,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from bot.errors import NightshiftError
from runtime import queue
from runtime.files.prompts import PromptsInvalid
from runtime.logging import get_logger
from runtime.sentry import flush, init_sentry
from runtime.start import WRONG_CONFIGURATION, say_warnings
from worker.agent.knowledge import KnowledgeInvalid
from worker.agent.media import MediaInvalid
from worker.alerts.delivery import deliver_alert
from worker.celery_app import app, settings
from worker.process.process import WorkerProcess
from worker.process.start_failure import or_end
from worker.take_turn import take_turn
from worker.texts import load_texts
from worker.turn_end import Failed

log = get_logger(__name__)

DRAIN_SECONDS = 25.0  # running turns may finish for this long after SIGTERM; then they give their conversations back

process = WorkerProcess()


class TurnFailed(NightshiftError):
    """The turn ended in an exception of ours; the message names its class and nothing else."""


@app.task(name=queue.ANSWER)
def answer(conversation_id: str) -> str:
    """One turn of a conversation. A turn that failed is red in Flower; the conversation is due again by itself."""
    try:
        end = process.run(lambda services: take_turn(services, conversation_id))
    except concurrent.futures.CancelledError:
        return "released"
    if isinstance(end, Failed):
        raise TurnFailed(str(end))
    return str(end)


@app.task(name=queue.ALERT)
def alert(alert_id: str) -> str:
    """Deliver one alert to the managers."""
    try:
        return process.run(lambda services: deliver_alert(services, alert_id))
    except concurrent.futures.CancelledError:
        return "released"


@app.task(name=queue.RECONCILE)
def reconcile() -> str:
    """One look for messages that no webhook has brought."""
    try:
        return process.run(lambda services: services.reconciler.reconcile())
    except concurrent.futures.CancelledError:
        return "released"


@worker_init.connect
@or_end
def _start(**_: Any) -> None:
    """Before the first task: everything that can be wrong with texts and settings stops the process here."""
    init_sentry("worker", settings)
    say_warnings(settings)
    try:
        texts = load_texts(settings)
    except (PromptsInvalid, KnowledgeInvalid, MediaInvalid) as exc:
        sys.stderr.write(f"Nightshift cannot start:\n{exc}\n")
        raise SystemExit(WRONG_CONFIGURATION) from None
    process.start(settings, texts)


@worker_ready.connect
@or_end
def _ready(sender: Any, **_: Any) -> None:
    process.beat(sender)
    log.info("worker_ready")


@heartbeat_sent.connect
def _consumer_turns(**_: Any) -> None:
    process.consumer.tick()


@task_prerun.connect
def _task_starts(task: Any, **_: Any) -> None:
    process.consumer.task_started(is_turn=task.name == queue.ANSWER)


@task_postrun.connect
def _task_ended(**_: Any) -> None:
    process.consumer.task_ended()


@worker_shutting_down.connect
def _drain(**_: Any) -> None:
    log.info("worker_draining", seconds=DRAIN_SECONDS)
    process.drain(DRAIN_SECONDS)


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    process.stop()
    flush(5)
