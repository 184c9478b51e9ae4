"""How these tests speak to the receiver."""

import json
from typing import Any

import httpx

from tests.webhooks.support import (
    RECEIVED_MS,
    instagram,
    message,
    sign,
)

HELLO = json.dumps(instagram(message("aWdf_1", text="Привет 🚀"))).encode()
PATH = "/webhooks/meta"


def then() -> int:
    """The receiver's clock: the payloads of these tests are of that day."""
    return RECEIVED_MS


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://receiver")


async def post(client: httpx.AsyncClient, body: bytes = HELLO, **headers: str) -> httpx.Response:
    return await client.post(PATH, content=body, headers=headers or sign(body))
