from collections.abc import AsyncIterator

import pytest

from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Debounce, Settings, Shift
from store.connection import connect
from tests.jumping_clock import MovedScripts
from tests.store.clock.moved import ACCOUNT, House


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = Config(
        accounts=(ACCOUNT,),
        debounce=Debounce(quiet_seconds=4, max_wait_seconds=15),
        shift=Shift(takeover_minutes=10),
    )
    return settings.model_copy(update={"config": config})


@pytest.fixture
async def moved(valkey: EmbeddedValkey) -> AsyncIterator[MovedScripts]:
    client = connect(valkey.url, max_connections=20, timeout_seconds=5)
    await client.flushall()
    yield MovedScripts(client)
    await client.aclose()


@pytest.fixture
async def house(moved: MovedScripts, settings: Settings) -> House:
    house = House(moved, settings)
    await house.dispatch()
    return house
