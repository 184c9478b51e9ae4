"""Ends a process whose start has failed: Celery logs what a signal's receiver raises and goes on without it.

A worker without its house, its tasks or its heartbeat calls itself ready, takes conversations and answers no customer.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from runtime.logging import get_logger
from runtime.masking import mask

log = get_logger(__name__)

FAILED = 1  # the exit code


class _Start:
    failed = False


def or_end(receiver: Callable[..., None]) -> Callable[..., None]:
    """The receiver of a signal of the start: an exception of it ends the process, its cause the last line of stderr."""

    @wraps(receiver)
    def receive(*args: Any, **kwargs: Any) -> None:
        try:
            receiver(*args, **kwargs)
        except Exception as exc:
            log.exception("start_failed", step=receiver.__name__.strip("_"))
            _Start.failed = True
            sys.stderr.write(f"Nightshift cannot start: {type(exc).__name__}: {mask(str(exc))}\n")
            raise SystemExit(FAILED) from exc

    return receive


def start_failed() -> bool:
    """Whether this process ended because of that: another try would end the same way."""
    return _Start.failed
