"""Files and folders that other users of the machine must not read: conversations, passwords, what Flower remembers."""

import os
import sys
from pathlib import Path

UMASK = 0o077
"""What a process that writes such files sets first: whatever it makes is its user's alone."""


def make_private(folder: Path) -> Path:
    """The folder, made if need be, with access for its owner alone; also when it was there and open to others.

    One that belongs to another user cannot be closed: that is said, and everything goes on.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        if folder.stat().st_mode & UMASK:
            folder.chmod(0o700)
    except PermissionError:
        sys.stderr.write(f"{folder} may be read by other users and belongs to another one; chmod 700 it\n")
    return folder


def write_private(path: Path, text: str) -> None:
    """Replace the file by one that its owner alone can read, at once: a reader finds the old or the new text."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
