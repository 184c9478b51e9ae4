from collections.abc import AsyncIterator, Iterator

import pytest

from runtime.embedded import EmbeddedValkey
from sandbox.patience import PATIENCE_SECONDS
from store.connection import Store, connect


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
async def redis(valkey: EmbeddedValkey) -> AsyncIterator[Store]:
    client: Store = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield client
    await client.aclose()
