"""A stand-in for Telegram and a client that talks to it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from clients.telegram.client import (
    TelegramAlerts,
)
from sandbox.server import SandboxServer
from sandbox.telegram.server import TelegramSandbox
from tests.clients.telegram.served import CHAT, TOKEN, Served, environment


@pytest.fixture
def chat() -> Iterator[Served]:
    sandbox = TelegramSandbox(token=TOKEN, chats=(CHAT,))
    with SandboxServer(sandbox.app) as server:
        yield Served(sandbox, server.url)


@pytest.fixture
async def alerts(chat: Served) -> AsyncIterator[TelegramAlerts]:
    client = TelegramAlerts(environment(chat.url))
    yield client
    await client.aclose()
