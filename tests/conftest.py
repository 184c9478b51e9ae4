import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import hypothesis
import pytest

from clients.http import make_http_client
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config, Debounce, Environment, Settings, Shift
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from store.connection import connect
from store.scripts import Scripts


def pytest_configure() -> None:
    """Whoever runs the tests in the background of a shell has them ignore Ctrl-C, and all that they start with them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# A busy machine is no counterexample: how long one example takes decides nothing. A test that hangs has its own limit.
hypothesis.settings.register_profile("house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("house")


LONGEST = ("test_benchmarks.py", "end_to_end", "sandbox", "cli", "runtime/test_start.py", "worker")
"""What takes longest, first: a file of minutes that comes last keeps one process busy and the others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In the order of `LONGEST`, else in the order that they have."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> int:
        return min((places[path] for path in (item.path, *item.path.parents) if path in places), default=len(LONGEST))

    items.sort(key=place)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=20, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client() as client:
        yield client


@pytest.fixture(scope="session")
def model_server_of_session() -> Iterator[tuple[ModelStandIn, SandboxServer]]:
    """Starting and stopping a server costs a quarter of a second, so all tests share one."""
    model = ModelStandIn()
    with model.serve() as server:
        yield model, server


@pytest.fixture
def settings(valkey: EmbeddedValkey) -> Settings:
    """No quiet time and short takeovers, so that a test need not wait."""
    return Settings(
        env=Environment(redis_url=valkey.url, meta_app_id="555000111222333"),
        config=Config(
            accounts=(Account(channel="instagram", id="17841400000000042"),),
            debounce=Debounce(quiet_seconds=0, max_wait_seconds=0),
            shift=Shift(takeover_minutes=0.005),
        ),
    )
