"""`python -m worker.beat`: Celery's beat, with its memory under `var/beat`; more of its options may be added."""

import os
import sys
from pathlib import Path

from celery.bin.beat import beat

from runtime.private_files import UMASK, make_private
from worker.commands import run_command

SCHEDULE = Path("var/beat/schedule")


def main() -> None:
    os.umask(UMASK)
    make_private(SCHEDULE.parent)
    sys.exit(run_command(beat, ["--schedule", str(SCHEDULE), "-l", "INFO", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
