import json

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from store.connection import StoreUnavailable
from tests.webhooks.support import RememberingStore, instagram, item, message, sign

pytestmark = pytest.mark.anyio

PATH = "/webhooks/meta"


async def samples(client: httpx.AsyncClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def of(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


async def post(client: httpx.AsyncClient, *items: object) -> None:
    body = json.dumps(instagram(*items)).encode()
    await client.post(PATH, content=body, headers=sign(body))


async def test_posts_and_events_are_counted(client: httpx.AsyncClient) -> None:
    await post(client, message("a", text="x"), item(postback={"title": "t"}), item(read={"mid": "a"}))
    await post(client, message("b", text="x"), message("a", is_deleted=True), {"never seen": 1, "kind": "x"})
    await client.post(PATH, content=b"{}")

    seen = await samples(client)

    assert seen[of("nightshift_webhook_posts_total", status="200")] == 2
    assert seen[of("nightshift_webhook_posts_total", status="403")] == 1
    assert seen[of("nightshift_webhook_seconds_count")] == 3
    kinds = {"message": 2, "postback": 1, "read": 1, "deletion": 1, "unknown": 1}
    assert {kind: seen[of("nightshift_webhook_events_total", kind=kind)] for kind in kinds} == kinds


async def test_what_was_not_stored_is_not_counted_as_an_event(
    client: httpx.AsyncClient, store: RememberingStore
) -> None:
    store.failure = StoreUnavailable("away")
    await post(client, message("a", text="x"))

    seen = await samples(client)

    assert seen[of("nightshift_webhook_posts_total", status="503")] == 1
    assert of("nightshift_webhook_events_total", kind="message") not in seen


async def test_the_house_is_shown_beside_the_receiver(client: httpx.AsyncClient) -> None:
    seen = await samples(client)

    assert seen[of("nightshift_redis_up")] == 1
    assert seen[of("nightshift_messages_total", outcome="answered")] == 7
    assert seen[of("nightshift_messages_total", outcome="expired")] == 1
    assert seen[of("nightshift_open_messages")] == 3


async def test_without_redis_the_receiver_still_shows_its_own(
    client: httpx.AsyncClient, store: RememberingStore
) -> None:
    await post(client, message("a", text="x"))
    store.failure = StoreUnavailable("away")

    seen = await samples(client)

    assert seen[of("nightshift_redis_up")] == 0
    assert seen[of("nightshift_webhook_posts_total", status="200")] == 1
    assert of("nightshift_open_messages") not in seen


async def test_every_name_is_ours(client: httpx.AsyncClient) -> None:
    assert {name.split("_")[0] for name, _ in await samples(client)} == {"nightshift"}
