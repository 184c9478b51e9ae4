import httpx
import pytest

from clients.llm.client import LLMClient
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer


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
