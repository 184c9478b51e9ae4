"""A store, a Telegram and a system that is watched."""

from collections.abc import AsyncIterator, Iterator

import pytest

from runtime.embedded import EmbeddedValkey
from runtime.settings import Settings
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from sandbox.telegram.server import TelegramSandbox
from store.connection import connect
from store.scripts import Scripts
from tests.monitoring.watched import TOKEN, Watched, settings_with


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture(scope="module")
def telegram_server() -> Iterator[tuple[TelegramSandbox, str]]:
    sandbox = TelegramSandbox(token=TOKEN)
    with SandboxServer(sandbox.app) as server:
        yield sandbox, server.url


@pytest.fixture
def telegram(telegram_server: tuple[TelegramSandbox, str]) -> TelegramSandbox:
    telegram_server[0].messages.clear()
    return telegram_server[0]


@pytest.fixture
def settings(telegram_server: tuple[TelegramSandbox, str]) -> Settings:
    return settings_with(telegram_server[1])


@pytest.fixture
async def watched(scripts: Scripts, settings: Settings, telegram: TelegramSandbox) -> AsyncIterator[Watched]:
    here = Watched(scripts, settings, telegram)
    yield here
    for alerts in here.opened:
        await alerts.aclose()
