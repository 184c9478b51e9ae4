"""The stand-in for Meta, a receiver of its webhooks, and a client."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from clients.http import make_http_client
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from tests.sandbox.meta.served import INSTAGRAM, MESSENGER, SECRET, Receiver


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Receiver, MetaSandbox]]:
    receiver = Receiver()
    sandbox = MetaSandbox([INSTAGRAM, MESSENGER], app_secret=SECRET, app_id="555000111222333")
    with SandboxServer(receiver.app) as webhook, SandboxServer(sandbox.app) as server:
        sandbox.webhook_url = f"{webhook.url}/webhooks/meta"
        sandbox.app.state.url = server.url
        yield receiver, sandbox


@pytest.fixture
def meta(served: tuple[Receiver, MetaSandbox]) -> MetaSandbox:
    _, sandbox = served
    sandbox.reset()
    sandbox.accounts = [INSTAGRAM, MESSENGER]
    sandbox.echo = "none"
    return sandbox


@pytest.fixture
def receiver(served: tuple[Receiver, MetaSandbox]) -> Receiver:
    receiver, _ = served
    receiver.bodies.clear()
    receiver.signatures.clear()
    receiver.statuses.clear()
    return receiver


@pytest.fixture
async def http(meta: MetaSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client(base_url=meta.app.state.url) as client:
        yield client
