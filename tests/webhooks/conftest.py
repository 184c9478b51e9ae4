"""A receiver in memory: the application, a store that remembers, and a client that signs."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.webhooks.support import RECEIVED_MS, RememberingStore, make_settings
from webhooks.app import create_app


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store() -> RememberingStore:
    return RememberingStore()


@pytest.fixture
async def client(store: RememberingStore) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(make_settings(), store, clock_ms=lambda: RECEIVED_MS))
    async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
        yield client
