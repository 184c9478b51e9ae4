"""Redis behind TLS, and a user of it who may touch what is ours alone: every process of the Procfile."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis

from runtime.embedded import EmbeddedValkey
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed
from tests.redis_doors import TLS_HANDSHAKE, Authority, DoorTo

pytestmark = pytest.mark.timeout(180)

PASSWORD = "p@s:s/w?r#d"
ENCODED = "p%40s%3As%2Fw%3Fr%23d"
ROLES = ("web", "dispatcher", "worker", "beat", "flower")


@pytest.fixture
def server() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        with redis.Redis.from_url(server.url) as client:
            client.execute_command("ACL", "SETUSER", "anna", "on", f">{PASSWORD}", "~ns:*", "&ns:*", "+@all")
        yield server


def test_no_process_speaks_anything_but_tls_and_the_customer_is_answered(
    server: EmbeddedValkey, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    with DoorTo(server.port, tls=authority.context) as door:
        url = f"rediss://anna:{ENCODED}@127.0.0.1:{door.port}/0?ssl_ca_certs={authority.file}"
        with Stack(tmp_path / "stack", processes=(), environment={"REDIS_URL": url}) as stack:
            for role in ROLES:
                if role == "flower":  # it asks the worker once, when it starts
                    stack.wait_until_ready()
                comes_in(stack, door, role)
            customer = Customer(stack, new_customer())
            customer.writes("Привет")
            customer.waits_for()
            all_closed(stack)
            pages = stack.wait_for(lambda: flower_pages(stack), "Flower to have heard of the worker", 90)
            logs = "".join((stack.directory / f"{role}.log").read_text(encoding="utf-8") for role in ROLES)

        assert set(door.first_bytes) == {TLS_HANDSHAKE}
    assert [word for word in (PASSWORD, ENCODED, "anna") if word in logs + pages] == []


def comes_in(stack: Stack, door: DoorTo, role: str) -> None:
    before = len(door.first_bytes)
    stack.spawn(role)
    stack.wait_for(lambda: len(door.first_bytes) > before, f"{role} to connect")


def flower_pages(stack: Stack) -> str | None:
    """What Flower shows of the broker and of a worker, once it knows one."""
    url = f"http://127.0.0.1:{stack.flower_port}"
    with httpx.Client(base_url=url, auth=("ops", "sandbox"), timeout=30, trust_env=False) as client:
        try:
            workers = client.get("/api/workers").json()
            if not any("stats" in known and "conf" in known for known in workers.values()):
                client.get("/api/workers?refresh=1")
                return None
            lengths = client.get("/api/queues/length")
            assert {queue["name"] for queue in lengths.json()["active_queues"]} == {"ops", "turns"}
            shown = [client.get("/broker"), client.get(f"/worker/{next(iter(workers))}"), client.get("/api/workers")]
        except httpx.TransportError:
            return None
    assert {page.status_code for page in shown} == {200}
    return "".join(page.text for page in shown)
