"""Installs a lock file with pip, hashes checked, and shows one short line of progress instead of pip's hundreds."""

import subprocess
import sys
from pathlib import Path

STEPS = 5


def main(lock: str) -> int:
    pinned = sum(
        "==" in line and not line.startswith((" ", "#")) for line in Path(lock).read_text("utf-8").splitlines()
    )
    say(f"Installing {lock}: {pinned} packages ")
    command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--progress-bar", "off", "-r", lock]
    said: list[str] = []
    seen = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if line.startswith(("Collecting ", "Requirement already satisfied", "Ignoring ")):
                seen += 1
                if seen % STEPS == 0:
                    say(".")
            elif line.startswith("Installing collected packages"):
                say(" unpacking ")
    say("done\n" if pip.returncode == 0 else "failed\n")
    if pip.returncode != 0:
        say("".join(line for line in said if not line.startswith(("Collecting ", "  Using cached", "  Downloading"))))
    return pip.returncode


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
