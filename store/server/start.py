"""Before a process serves: is its Redis one that it can serve with?"""

import asyncio
import sys
from collections.abc import Callable

from runtime.findings import Finding, Level
from runtime.logging import get_logger
from runtime.settings import Settings
from store.connection import StoreUnavailable
from store.server.checks import check_store

log = get_logger(__name__)


def log_warning(finding: Finding) -> None:
    log.warning("store_doubtful", check=finding.check, detail=str(finding))


def say_nothing(_finding: Finding) -> None:
    """Where another process of the same installation says it."""


def refuse_unfit_store(settings: Settings, *, warn: Callable[[Finding], None] = log_warning) -> None:
    """End the process with code 2, as for a wrong setting, when its Redis cannot be served with; `warn` hears the rest.

    Not called from a running event loop. A Redis that is away is waited for: its check is left to the watchdog.
    """
    try:
        findings = asyncio.run(check_store(settings))
    except StoreUnavailable as exc:
        log.debug("store_not_checked", reason=str(exc))
        return
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    for finding in findings:
        if finding.level is Level.WARNING:
            warn(finding)
    if errors:
        lines = "".join(f"  - {_variable(finding)}: {finding} ({finding.check})\n" for finding in errors)
        sys.stderr.write(f"Nightshift cannot start:\n{lines}")
        raise SystemExit(2)


def _variable(finding: Finding) -> str:
    return "CELERY_BROKER_URL" if finding.check.startswith("broker.") else "REDIS_URL"
