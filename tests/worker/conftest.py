from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from runtime.embedded import EmbeddedValkey
from runtime.settings import Business, Config, Debounce, Environment, Settings
from sandbox.meta.server import MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from store.connection import connect
from store.scripts import Scripts
from tests.worker.agent.thinking import Bench
from tests.worker.reading_bench import INSTAGRAM, ReadingBench
from tests.worker.turning import ACCOUNT, OTHER_ACCOUNT, TurnBench
from worker.services import Services, build_services
from worker.texts import load_texts


@pytest.fixture
def bench(http: httpx.AsyncClient, model_server_of_session: tuple[ModelStandIn, SandboxServer]) -> Bench:
    model, server = model_server_of_session
    model.reset()
    return Bench(http, model, server)


@pytest.fixture(scope="module")
def reading_servers() -> Iterator[tuple[EmbeddedValkey, MetaSandbox, str]]:
    meta = MetaSandbox([INSTAGRAM])
    with EmbeddedValkey() as valkey, SandboxServer(meta.app) as server:
        yield valkey, meta, server.url


@pytest.fixture
async def reading_bench(
    reading_servers: tuple[EmbeddedValkey, MetaSandbox, str], http: httpx.AsyncClient
) -> AsyncIterator[ReadingBench]:
    """What is read back from Meta, against an empty store and a stand-in without faults left."""
    valkey, meta, url = reading_servers
    meta.reset()
    meta.accounts = [INSTAGRAM]
    client = connect(valkey.url, max_connections=20, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield ReadingBench(meta, url, http, Scripts(client))
    await client.aclose()
    assert meta.faults_left() == 0


@pytest.fixture(scope="module")
def turning_servers() -> Iterator[tuple[EmbeddedValkey, MetaSandbox, str, ModelStandIn, str]]:
    meta, model = MetaSandbox([ACCOUNT, OTHER_ACCOUNT]), ModelStandIn()
    meta.set_limits()
    with EmbeddedValkey() as valkey, SandboxServer(meta.app) as meta_server, model.serve() as model_server:
        yield valkey, meta, meta_server.url, model, model_server.url


@pytest.fixture
async def turns(
    turning_servers: tuple[EmbeddedValkey, MetaSandbox, str, ModelStandIn, str],
) -> AsyncIterator[TurnBench]:
    """Whole turns, one after the other, against an empty store."""
    valkey, meta, meta_url, model, model_url = turning_servers
    model.reset()
    meta.reset()
    client = connect(valkey.url, max_connections=20, timeout_seconds=5)
    await client.flushall()
    env = Environment(redis_url=valkey.url, graph_api_url=meta_url, llm_api_url=model_url, llm_api_key="key")
    debounce = Debounce(quiet_seconds=0, max_wait_seconds=0)
    config = Config(accounts=(ACCOUNT,), debounce=debounce, business=Business(disclosure=False))
    settings = Settings(env=env, config=config)
    house = await build_services(settings, load_texts(settings))

    def another(**changes: Any) -> Services:
        """The same worker with another configuration (`config`, as pydantic updates it), or another part."""
        if updates := changes.pop("config", None):
            changes["settings"] = settings.model_copy(update={"config": config.model_copy(update=updates)})
        return replace(house, **changes)

    yield TurnBench(house, Scripts(client), meta, model, another)
    await house.aclose()
    await client.aclose()
