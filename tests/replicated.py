"""A primary and its replica, with a link between them that can stop carrying bytes."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

import redis

from runtime.checks.urls import password_of
from runtime.embedded import EmbeddedValkey
from sandbox.stalling_proxy import StallingProxy
from tests.waiting import wait_until


class Replicated:
    """Started by entering it."""

    def __init__(self) -> None:
        self.primary, self.replica = EmbeddedValkey(), EmbeddedValkey()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.primary)
            stack.enter_context(self.replica)
            self.link = stack.enter_context(StallingProxy(self.primary.port))
            with client_of(self.primary) as primary, client_of(self.replica) as replica:
                primary.config_set("repl-diskless-sync-delay", 0)
                replica.config_set("masterauth", password_of(self.primary.url))
                replica.replicaof("127.0.0.1", self.link.port)
                wait_for_replica(primary)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def fail_over(self) -> str:
        """The primary dies and the replica takes its place, with what had reached it by then; its URL."""
        self.primary.kill()
        with client_of(self.replica) as replica:
            replica.replicaof("NO", "ONE")
        return self.replica.url


def client_of(server: EmbeddedValkey) -> "redis.Redis":
    return redis.Redis.from_url(server.url)


def wait_for_replica(primary: "redis.Redis") -> None:
    """Until it has caught up: a write is confirmed."""

    def has_caught_up() -> bool:
        try:
            primary.set("test:replicated", "1")
        except redis.ResponseError:  # NOREPLICAS: it has not come back yet
            return False
        return bool(primary.wait(1, 5000) == 1)  # milliseconds: through a busy proxy it takes a while

    wait_until(has_caught_up, "the replica to connect")
