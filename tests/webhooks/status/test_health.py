import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from sandbox.patience import PATIENCE_SECONDS
from store.connection import StoreUnavailable
from tests.webhooks.support import RememberingStore, make_settings
from webhooks.app import create_app

pytestmark = pytest.mark.anyio


async def test_live_says_only_that_the_process_runs(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.failure = StoreUnavailable("away")

    assert (await client.get("/health/live")).status_code == 200


async def test_ready_means_that_a_webhook_could_be_stored(client: httpx.AsyncClient, store: RememberingStore) -> None:
    answers = [await client.get("/health/ready")]
    store.is_writable = False
    answers.append(await client.get("/health/ready"))
    store.failure = StoreUnavailable("away")
    answers.append(await client.get("/health/ready"))

    assert [answer.status_code for answer in answers] == [200, 503, 503]


async def test_system_tells_the_report(client: httpx.AsyncClient, store: RememberingStore) -> None:
    answer = await client.get("/health/system")

    assert (answer.status_code, answer.json()) == (200, store.health)


async def test_system_is_unwell_when_the_report_is(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.health = {**store.health, "ok": False, "workers": 0}

    answer = await client.get("/health/system")

    assert (answer.status_code, answer.json()["workers"]) == (503, 0)


async def test_system_without_redis_keeps_its_shape(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.failure = StoreUnavailable("away")

    answer = await client.get("/health/system")

    assert answer.status_code == 503
    assert answer.json() == {
        "ok": False,
        "redis": False,
        "dispatcher": None,
        "workers": 0,
        "beat": None,
        "open": None,
        "oldest_open_seconds": None,
    }


class CountingStore(RememberingStore):
    def __init__(self) -> None:
        super().__init__()
        self.looks: list[str] = []

    async def writable(self) -> bool:
        self.looks.append("ready")
        return await super().writable()

    async def system_health(self) -> Mapping[str, Any]:
        self.looks.append("system")
        return await super().system_health()

    async def metrics(self) -> Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]:
        self.looks.append("metrics")
        return await super().metrics()


async def test_however_many_ask_redis_is_asked_once() -> None:
    store = CountingStore()
    transport = httpx.ASGITransport(create_app(make_settings(), store))
    paths = ("/health/ready", "/health/system", "/metrics")
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answers = await asyncio.gather(*(client.get(path) for path in paths * 20))

    assert {answer.status_code for answer in answers} == {200}
    assert sorted(store.looks) == ["metrics", "ready", "system"]


async def test_what_operators_ask_does_not_go_to_the_receivers_own_connection() -> None:
    store, operator_store = CountingStore(), CountingStore()
    transport = httpx.ASGITransport(create_app(make_settings(), store, operator_store=operator_store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in ("/health/ready", "/health/system", "/metrics"):
            await client.get(path)

    assert store.looks == ["ready"]
    assert operator_store.looks == ["system", "metrics"]


class FrozenStore(RememberingStore):
    async def writable(self) -> bool:
        await asyncio.Event().wait()
        return True

    async def system_health(self) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}


async def test_a_frozen_redis_is_told_in_time() -> None:
    transport = httpx.ASGITransport(create_app(make_settings(), FrozenStore()))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        answers = await asyncio.gather(client.get("/health/ready"), client.get("/health/system"))

    assert [answer.status_code for answer in answers] == [503, 503]
