from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from clients.http import make_http_client
from sandbox.model import ModelStandIn
from sandbox.server import SandboxServer
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
