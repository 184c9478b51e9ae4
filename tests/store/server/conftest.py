from collections.abc import AsyncIterator, Iterator

import pytest

from store.connection import Store, connect
from store.scripts import Scripts
from tests.replicated import Replicated


@pytest.fixture
def servers() -> Iterator[Replicated]:
    with Replicated() as servers:
        yield servers


@pytest.fixture
async def store(servers: Replicated) -> AsyncIterator[Store]:
    client = connect(servers.primary.url, max_connections=4, timeout_seconds=5)
    yield client
    await client.aclose()


@pytest.fixture
def confirmed(store: Store) -> Scripts:
    return Scripts(store, replicas=1)
