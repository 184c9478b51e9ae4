"""GET: Meta's check that the address is ours."""

import httpx
import pytest

from store.connection import StoreUnavailable
from tests.webhooks.posting import PATH, client_of
from tests.webhooks.support import (
    VERIFY_TOKEN,
    RememberingStore,
    make_settings,
)
from webhooks.app import create_app

pytestmark = pytest.mark.anyio


async def verify(client: httpx.AsyncClient, **changed: str | None) -> httpx.Response:
    query = {"mode": "subscribe", "verify_token": VERIFY_TOKEN, "challenge": "1158201444", **changed}
    return await client.get(PATH, params={f"hub.{key}": value for key, value in query.items() if value is not None})


# GET.


async def test_the_challenge_comes_back_as_plain_text(client: httpx.AsyncClient) -> None:
    answer = await verify(client)

    assert (answer.status_code, answer.text) == (200, "1158201444")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    "changed",
    [
        {"verify_token": "another"},
        {"verify_token": ""},
        {"verify_token": None},
        {"verify_token": "токен"},
        {"mode": "unsubscribe"},
        {"mode": None},
        {"challenge": None},
        {"challenge": ""},
        {"challenge": "<script>alert(1)</script>"},
        {"challenge": "1\n2"},
        {"challenge": "x" * 257},
    ],
)
async def test_any_other_verification_is_refused(client: httpx.AsyncClient, changed: dict[str, str | None]) -> None:
    answer = await verify(client, **changed)

    assert (answer.status_code, answer.text) == (403, "Forbidden")


@pytest.mark.parametrize("token", ["", None])
async def test_an_empty_configured_token_matches_nothing(store: RememberingStore, token: str | None) -> None:
    async with client_of(create_app(make_settings(verify_token=""), store)) as client:
        answer = await verify(client, verify_token=token)

    assert answer.status_code == 403


async def test_verification_needs_no_redis(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.failure = StoreUnavailable("away")

    assert (await verify(client)).status_code == 200
