"""A stand-in that sends no echoes, a receiver of its webhooks, and a client."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from clients.http import make_http_client
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from tests.sandbox.meta.traffic.calls import APP_ID, BOTH, Receiver


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Receiver, MetaSandbox]]:
    receiver = Receiver()
    sandbox = MetaSandbox(BOTH, app_secret="invented-app-secret-01", app_id=APP_ID, echo="none")
    with SandboxServer(receiver.app) as webhook, SandboxServer(sandbox.app) as server:
        sandbox.webhook_url = f"{webhook.url}/webhooks/meta"
        sandbox.app.state.url = server.url
        yield receiver, sandbox


@pytest.fixture
def meta(served: tuple[Receiver, MetaSandbox]) -> MetaSandbox:
    served[1].reset()
    return served[1]


@pytest.fixture
def receiver(served: tuple[Receiver, MetaSandbox]) -> Receiver:
    served[0].bodies.clear()
    served[0].statuses.clear()
    return served[0]


@pytest.fixture
async def http(meta: MetaSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client(base_url=meta.app.state.url) as client:
        yield client
