"""The Celery application as both the dispatcher and the worker see it: names, broker, and what must never be a default.

A poke is disposable: Celery on Redis loses a message at the pop and repeats one after it (celery/celery#7950,
celery/kombu#305), so the truth is the `due` set, and nothing here retries, counts down or keeps a result.
"""

from typing import Any

from celery import Celery

from runtime.broker import for_celery
from runtime.key_prefix import CELERY_PREFIX
from runtime.settings import Settings

ANSWER = "answer"
ALERT = "alert"
RECONCILE = "reconcile"
TURNS = "turns"  # the queue of customers' turns
OPS = "ops"  # everything a customer does not wait for


def make_celery(settings: Settings) -> Celery:
    """Configured, not connected."""
    broker, its_options = for_celery(settings.env.broker_url)
    app = Celery("nightshift", broker=broker, set_as_current=False)
    app.conf.update(
        broker_connection_max_retries=None,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "global_keyprefix": CELERY_PREFIX,
            "fanout_patterns": False,  # runtime/broker.py subscribes to names, not to patterns
            "visibility_timeout": 300,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 15,
            "max_connections": 200,
            "client_name": "nightshift-celery",
            **its_options,
        },
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        task_acks_late=False,
        worker_disable_prefetch=True,
        task_default_queue=TURNS,
        task_routes={ANSWER: {"queue": TURNS}, ALERT: {"queue": OPS}, RECONCILE: {"queue": OPS}},
        beat_schedule=_periodic(settings),
        task_publish_retry=False,
        task_send_sent_event=True,
        task_track_started=True,
        worker_send_task_events=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        enable_utc=True,
    )
    return app


def _periodic(settings: Settings) -> dict[str, dict[str, Any]]:
    """What beat sends by name. One that waited until the next comes is dropped by the worker that takes it."""
    if not settings.config.reconcile.minutes:
        return {}
    seconds = settings.config.reconcile.minutes * 60
    return {RECONCILE: {"task": RECONCILE, "schedule": seconds, "options": {"queue": OPS, "expires": seconds}}}
