from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from clients.http import make_http_client
from clients.llm.client import LLMClient
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
def model(model_server_of_session: tuple[ModelStandIn, SandboxServer]) -> ModelStandIn:
    model_server_of_session[0].reset()
    return model_server_of_session[0]


@pytest.fixture
def model_server(model_server_of_session: tuple[ModelStandIn, SandboxServer]) -> SandboxServer:
    return model_server_of_session[1]


@pytest.fixture
def llm(http: httpx.AsyncClient, model_server: SandboxServer) -> LLMClient:
    return LLMClient(http, base_url=model_server.url, api_key="sk-invented-key")
