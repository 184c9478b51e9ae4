"""Starts a child process that does not outlive this one, however this one ends.

On Linux the kernel is asked to signal the child when its parent dies; elsewhere it is left to an orderly stop. The
request has to be made by the child itself, so this file is also a script: `python child.py SIGNAL PARENT COMMAND...`
makes it and then becomes COMMAND, keeping the process id. (`preexec_fn` could do the same, but may deadlock in a
process that has threads.)
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def start_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: int | IO[bytes] | None = None,
    keep_fds: Sequence[int] = (),
    umask: int = -1,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, out of reach of the terminal's Ctrl-C; stdout and stderr go to `output`.

    `umask` is the child's; -1 leaves it as it is. Call it from a thread that stays: to the kernel the parent is the
    thread that made the child.
    """
    tied = [sys.executable, "-I", "-S", __file__, str(int(signal.SIGTERM)), str(os.getpid()), *command]
    return subprocess.Popen(  # noqa: S603  the command is the caller's, and no shell reads it
        tied if sys.platform == "linux" else list(command),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        env=dict(env) if env is not None else None,
        cwd=cwd,
        start_new_session=True,
        pass_fds=tuple(keep_fds),
        umask=umask,
    )


def _become(death_signal: int, parent: int, command: list[str]) -> None:
    import ctypes  # noqa: PLC0415  only the child needs it

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        print(f"prctl: {os.strerror(ctypes.get_errno())}", file=sys.stderr)  # noqa: T201
        sys.exit(71)
    if os.getppid() != parent:
        sys.exit(0)  # the parent died before the request was made
    try:
        os.execvp(command[0], command)  # noqa: S606  no shell is wanted
    except OSError as exc:
        print(f"{command[0]}: {exc.strerror}", file=sys.stderr)  # noqa: T201
        sys.exit(127)


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
