from collections.abc import AsyncIterator, Iterator

import pytest

from runtime.embedded import EmbeddedValkey
from runtime.redis import connect
from runtime.scripts import Scripts
from runtime.settings import Account, Config, Debounce, Environment, Settings, Shift
from sandbox.patience import PATIENCE_SECONDS


@pytest.fixture(scope="session")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=20, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture
def settings(valkey: EmbeddedValkey) -> Settings:
    """No quiet time and short takeovers, so that a test need not wait."""
    return Settings(
        env=Environment(redis_url=valkey.url, meta_app_id="555000111222333"),
        config=Config(
            accounts=(Account(channel="instagram", id="17841400000000042"),),
            debounce=Debounce(quiet_seconds=0, max_wait_seconds=0),
            shift=Shift(takeover_minutes=0.005),
        ),
    )
