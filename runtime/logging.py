"""One log format for all processes: JSON in production, a readable console elsewhere; no customer's text, no tokens."""

import logging
import logging.config
import sys
import threading
from types import TracebackType
from typing import Any

import structlog

from runtime.known_secrets import secrets_of
from runtime.masking import know_secrets, masked
from runtime.settings import Settings


def configure_logging(process: str, settings: Settings) -> None:
    """Route structlog and the standard library through one formatter, once per process; its secrets are masked from
    now on. What ends the process or a thread goes the same way: Python's own last words would not be masked."""
    know_secrets(secrets_of(settings))
    production = settings.env.app_env == "production"
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if production
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,  # to text, which is masked: a renderer's own tracebacks would not be
        _mask_values,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # httpx logs full URLs at INFO, and Telegram's token is part of the URL.
    for noisy in ("httpx", "httpcore", "telegram", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for propagating in ("uvicorn", "uvicorn.error", "celery"):
        logger = logging.getLogger(propagating)
        logger.handlers[:] = []
        logger.propagate = True
    logging.captureWarnings(True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(process=process)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger("nightshift").critical("process_failed", exc_info=(kind, error, trace))


def _log_uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
        told = (args.exc_type, args.exc_value, args.exc_traceback)
        logging.getLogger("nightshift").critical("thread_failed", exc_info=told)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def _mask_values(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {key: value if key in _OUR_OWN else masked(value) for key, value in event.items()}


_OUR_OWN = frozenset({"timestamp", "level", "process", "_record", "_from_structlog"})  # no part of what was said
