"""`python -m worker.beat`: Celery's beat, with its memory under `var/beat`; more of its options may be added."""

import sys
from pathlib import Path

from celery.bin.beat import beat

from runtime.start import start_process
from worker.process.commands import make_folder, run_command

SCHEDULE = Path("var/beat/schedule")


def main() -> None:
    start_process("beat")
    make_folder(SCHEDULE.parent)
    sys.exit(run_command(beat, ["--schedule", str(SCHEDULE), "-l", "INFO", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
