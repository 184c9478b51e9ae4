from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from clients.http import make_http_client
from runtime.embedded import EmbeddedValkey
from runtime.redis import connect
from runtime.scripts import Scripts
from sandbox.meta import MetaSandbox
from sandbox.model import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from tests.worker.reading_bench import INSTAGRAM, ReadingBench
from tests.worker.thinking import Bench


@pytest.fixture(scope="session")
def model_server_of_session() -> Iterator[tuple[ModelStandIn, SandboxServer]]:
    """Starting and stopping a server costs a quarter of a second, so all tests share one."""
    model = ModelStandIn()
    with model.serve() as server:
        yield model, server


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client() as client:
        yield client


@pytest.fixture
def bench(http: httpx.AsyncClient, model_server_of_session: tuple[ModelStandIn, SandboxServer]) -> Bench:
    model, server = model_server_of_session
    model.reset()
    return Bench(http, model, server)


@pytest.fixture(scope="module")
def reading_servers() -> Iterator[tuple[EmbeddedValkey, MetaSandbox, str]]:
    meta = MetaSandbox([INSTAGRAM])
    with EmbeddedValkey() as valkey, SandboxServer(meta.app) as server:
        yield valkey, meta, server.url


@pytest.fixture
async def reading_bench(
    reading_servers: tuple[EmbeddedValkey, MetaSandbox, str], http: httpx.AsyncClient
) -> AsyncIterator[ReadingBench]:
    """What is read back from Meta, against an empty store and a stand-in without faults left."""
    valkey, meta, url = reading_servers
    meta.reset()
    meta.accounts = [INSTAGRAM]
    client = connect(valkey.url, max_connections=20, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield ReadingBench(meta, url, http, Scripts(client))
    await client.aclose()
    assert meta.faults_left() == 0
