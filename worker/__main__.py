"""`python -m worker`: the Celery worker with the options it needs; more of Celery's own may be added.

A full or read-only Redis makes Celery's consumer give up and its process end with code 1 (celery/celery#5716 and its
kin). That is an outage like any other, so the process then starts itself anew, under the same pid, and its supervisor
sees nothing; what ran is taken up when its leases have run out.
"""

import os
import signal
import sys
import time

from celery.bin.worker import worker

from runtime.logging import get_logger
from runtime.open_files import raise_open_files
from runtime.start import start_process
from worker.process.commands import STARTED_ANEW, run_command
from worker.process.start_failure import start_failed

log = get_logger(__name__)

RESTART_SECONDS = 2.0
RESTARTED_CODES = (1, 70)  # Celery gave up; our own check found that it had stopped consuming
CONCURRENCY = "250"  # turns in flight; threads that wait cost little, a saturated pool costs time


def main() -> None:
    start_process("worker")
    raise_open_files()  # a turn has up to a handful of connections, and hundreds of turns run at once
    # Not `app.worker_main`: it swallows the exit code.
    code = run_command(worker, [*_options(), *sys.argv[1:]], anew=STARTED_ANEW in os.environ)
    if code not in RESTARTED_CODES or start_failed():
        sys.exit(code)
    log.error("worker_starts_anew", seconds=RESTART_SECONDS)
    # Celery's handlers would only take note of a request to stop that comes now.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(RESTART_SECONDS)
    os.environ[STARTED_ANEW] = "1"
    os.execv(sys.executable, [sys.executable, "-m", "worker", *sys.argv[1:]])  # noqa: S606 - ourselves


def _options() -> list[str]:
    return [
        *("-P", "threads", "-c", CONCURRENCY, "-Q", "turns,ops"),
        *("--without-mingle", "--without-gossip", "-E", "-l", "INFO", "-n", f"worker-{os.getpid()}@%h"),
    ]


if __name__ == "__main__":
    main()
