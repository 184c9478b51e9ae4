"""A receiver in memory: the application, a store that remembers, and a client that signs."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.webhooks.support import LOOK_AGAIN, RECEIVED_MS, RememberingStore, make_settings
from webhooks.app import create_app


@pytest.fixture
def store() -> RememberingStore:
    return RememberingStore()


@pytest.fixture
async def client(store: RememberingStore) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(make_settings(), store, freshness=LOOK_AGAIN, clock_ms=lambda: RECEIVED_MS)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as client:
        yield client
