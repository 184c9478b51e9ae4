"""What an injected fault may do to the processes: kill and freeze processes, hurt Redis, empty the broker.

Everything here runs in the thread that started the processes: to the kernel that thread is their parent.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rehearsal.customers import Customers
from sandbox.stack import Stack
from store.keys import celery_key

BROKER_KEYS = celery_key("*")


@dataclass(slots=True)
class FaultInjector:
    """`stack` is None when the user started the stack. `ended` lists processes that died by themselves."""

    customers: Customers
    stack: Stack | None = None
    ended: list[str] = field(default_factory=list)
    _later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _retired: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _started: int = 0

    @property
    def own_stack(self) -> Stack:
        if self.stack is None:
            raise AssertionError("this fault needs a stack of its own")
        return self.stack

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + seconds, action))

    @property
    def busy(self) -> bool:
        """Something that was broken is still to be mended."""
        return bool(self._later)

    def do_what_is_due(self) -> None:
        now = time.monotonic()
        due = [action for at, action in self._later if at <= now]
        self._later = [(at, action) for at, action in self._later if at > now]
        for action in due:
            action()

    def mend_everything(self) -> None:
        """At the end nothing may stay frozen, or it could not be stopped."""
        later, self._later = self._later, []
        for _, action in later:
            action()
        for process in self._retired:
            if process.poll() is None:
                process.kill()
            process.wait()

    def supervise(self) -> None:
        """What a supervisor does: a process that has ended is started again."""
        if self.stack is None:
            return
        for alias, process in list(self.stack.running.items()):
            if process.poll() is not None:
                self.ended.append(f"{alias} (exit code {process.returncode})")
                del self.stack.running[alias]
                self.start(_kind(alias))

    def start(self, kind: str) -> str:
        self._started += 1
        alias = f"{kind}-{self._started}"
        self.own_stack.spawn(kind, alias=alias)
        return alias

    def aliases(self, kind: str) -> list[str]:
        return [alias for alias in self.own_stack.running if _kind(alias) == kind]

    def kill(self, kind: str) -> None:
        """SIGKILL the oldest of its kind, as an out-of-memory killer would; the supervisor starts another."""
        self.own_stack.kill(self.aliases(kind)[0])
        self.start(kind)

    def retire(self, alias: str) -> None:
        """SIGTERM: it may finish its turns in its own time, and the supervisor does not take its end for a crash.

        Nothing to do where another fault has killed it meanwhile.
        """
        process = self.own_stack.running.pop(alias, None)
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        self._retired.append(process)

    def freeze(self, kind: str, seconds: float) -> None:
        """It stops in the middle of whatever it does, and goes on later as if nothing had happened."""
        process = self.own_stack.running[self.aliases(kind)[0]]
        process.send_signal(signal.SIGSTOP)
        self.later(seconds, lambda: process.send_signal(signal.SIGCONT))

    # Redis.

    def kill_redis(self, *, down_seconds: float = 0.5) -> None:
        self.own_stack.valkey.kill()
        self.later(down_seconds, self._restart_redis)

    def freeze_redis(self, seconds: float) -> None:
        pid = self.own_stack.valkey.pid
        os.kill(pid, signal.SIGSTOP)
        self.later(seconds, lambda: os.kill(pid, signal.SIGCONT))

    def redis_command(self, *words: str | int) -> None:
        with self._redis() as client:
            client.execute_command(*words)

    def _restart_redis(self) -> None:
        self.own_stack.valkey.restart()

    def flush_broker(self) -> None:
        """Every key that is Celery's, queues and bindings alike, and none of ours."""
        with self._redis() as client:
            keys = list(client.scan_iter(BROKER_KEYS, count=1000))
            if keys:
                client.delete(*keys)

    def _redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.own_stack.valkey.url, socket_timeout=5, retry=Retry(NoBackoff(), 0))


def _kind(alias: str) -> str:
    return alias.partition("-")[0]
