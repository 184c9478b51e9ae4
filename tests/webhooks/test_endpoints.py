import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from bot.errors import NightshiftError
from bot.incoming.events import CustomerMessage, Event, Noted
from sandbox.patience import PATIENCE_SECONDS
from store.connection import StoreUnavailable
from tests.growth import MOST, growth
from tests.webhooks.posting import HELLO, PATH, client_of, post, then
from tests.webhooks.support import (
    SECRET,
    RememberingStore,
    instagram,
    make_settings,
    message,
    sign,
)
from webhooks.app import create_app
from webhooks.endpoints import Limits
from webhooks.translate import MOST_EVENTS

pytestmark = pytest.mark.anyio


# POST: what is stored.


async def test_a_signed_message_is_stored_and_then_acknowledged(
    client: httpx.AsyncClient, store: RememberingStore
) -> None:
    answer = await post(client)

    assert (answer.status_code, answer.text) == (200, "EVENT_RECEIVED")
    [event] = store.events
    assert isinstance(event, CustomerMessage)
    assert event.text == "Привет 🚀"


async def test_a_whole_post_is_one_call(client: httpx.AsyncClient, store: RememberingStore) -> None:
    body = json.dumps(instagram(*(message(f"m{n}", text="x") for n in range(20)))).encode()

    await post(client, body)

    assert [len(call) for call in store.calls] == [20]


async def test_nothing_to_store_does_not_touch_the_store(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.failure = StoreUnavailable("away")

    assert (await post(client, b'{"object":"instagram","entry":[]}')).status_code == 200


@pytest.mark.parametrize("body", [b"", b"not json", b"[[", b"\xff\xfe", b"[" * 100_000, b"17", b'"x"', b"null"])
async def test_a_signed_body_that_makes_no_sense_is_accepted_and_counted(
    client: httpx.AsyncClient, store: RememberingStore, body: bytes
) -> None:
    answer = await post(client, body)

    assert answer.status_code == 200
    assert set(store.events) == {Noted("unparsable")}


async def test_a_body_in_chunks_is_one_body(client: httpx.AsyncClient, store: RememberingStore) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(HELLO), 7):
            yield HELLO[start : start + 7]

    answer = await client.post(PATH, content=chunks(), headers=sign(HELLO))

    assert answer.status_code == 200
    assert len(store.events) == 1


def batch(size: int) -> bytes:
    return json.dumps(instagram(*(message(f"m{n}", text="я" * 200) for n in range(size)))).encode()


async def test_a_batch_of_a_thousand_is_acknowledged(client: httpx.AsyncClient, store: RememberingStore) -> None:
    body = batch(1000)

    answer = await post(client, body)

    assert answer.status_code == 200
    assert len(store.events) == 1000
    assert len(body) > Limits().inline_bytes


def acknowledge(body: bytes) -> None:
    """In a loop of its own, with all that is handed to threads."""

    async def answered() -> int:
        async with client_of(create_app(make_settings(), RememberingStore())) as client:
            return (await post(client, body)).status_code

    assert asyncio.run(answered()) == 200


def test_the_work_of_a_post_grows_with_its_messages() -> None:
    assert growth(acknowledge, batch, 500) <= MOST


EMPTY = {
    "entries": lambda size: b'{"object":"instagram","entry":[' + b",".join([b"{}"] * size) + b"]}",
    "items": lambda size: b'{"object":"instagram","entry":[{"messaging":[' + b",".join([b"0"] * size) + b"]}]}",
    "bodies": lambda size: b"[" + b",".join([b"0"] * size) + b"]",
}


@pytest.mark.parametrize("kind", EMPTY)
async def test_millions_of_empty_items_are_bounded_and_hold_up_nobody(
    client: httpx.AsyncClient, store: RememberingStore, kind: str
) -> None:
    body = EMPTY[kind](2_000_000)

    whole, of_the_loop = time.process_time(), time.thread_time()
    answer = await post(client, body)
    whole, of_the_loop = time.process_time() - whole, time.thread_time() - of_the_loop

    assert answer.status_code == 200
    assert of_the_loop < whole / 2  # most of the work is a thread's, and the loop serves others meanwhile
    assert len(store.events) == MOST_EVENTS + 1
    assert store.events[-1] == Noted("surplus")


@pytest.mark.parametrize("kind", EMPTY)
def test_the_work_for_empty_items_grows_with_their_number(kind: str) -> None:
    assert growth(acknowledge, EMPTY[kind], 1_000_000) <= MOST


async def test_a_time_in_the_future_becomes_the_time_of_receipt(store: RememberingStore) -> None:
    async with client_of(create_app(make_settings(), store, clock_ms=lambda: 1_700_000_000_000)) as client:
        await post(client)

    [event] = store.events
    assert isinstance(event, CustomerMessage)
    assert event.at_ms == 1_700_000_000_000


# POST: nothing is acknowledged that is not stored.


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), NightshiftError("a bug"), RuntimeError("a worse bug")])
async def test_what_cannot_be_stored_is_asked_for_again(
    client: httpx.AsyncClient, store: RememberingStore, failure: Exception
) -> None:
    store.failure = failure

    answer = await post(client)

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


class FrozenStore(RememberingStore):
    async def receive(self, events: Sequence[Event]) -> None:
        await asyncio.Event().wait()


async def test_a_frozen_store_is_a_503() -> None:
    async with client_of(create_app(make_settings(), FrozenStore())) as client:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await post(client)

    assert answer.status_code == 503
    assert Limits().store_seconds < 2  # Meta gives up after five


async def test_the_store_is_asked_again_once_it_is_back(client: httpx.AsyncClient, store: RememberingStore) -> None:
    store.failure = StoreUnavailable("away")
    await post(client)
    store.failure = None

    assert (await post(client)).status_code == 200
    assert len(store.events) == 1


# What is not here.


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/webhooks/telegram"),
        ("POST", "/privacy/deletion"),
        ("POST", "/privacy/deauthorize"),
        ("GET", "/privacy/deletion/abc"),
        ("GET", "/"),
        ("POST", "/webhooks"),
    ],
)
async def test_a_feature_that_is_not_there_is_not_found(client: httpx.AsyncClient, method: str, path: str) -> None:
    assert (await client.request(method, path)).status_code == 404


async def test_other_methods_are_not_allowed(client: httpx.AsyncClient) -> None:
    assert (await client.put(PATH, content=HELLO, headers=sign(HELLO))).status_code == 405


async def test_a_trailing_slash_loses_no_webhook(client: httpx.AsyncClient, store: RememberingStore) -> None:
    answer = await client.post(PATH + "/", content=HELLO, headers=sign(HELLO))

    assert answer.status_code == 200
    assert len(store.events) == 1


async def test_nothing_of_a_customer_is_logged(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    secret_words = "my-secret-words"
    strange = instagram(message("a", text=secret_words), {"message": secret_words}, {secret_words: 1})
    for body in (json.dumps(strange).encode(), f'{{"{secret_words}'.encode()):
        await post(client, body)
        await post(client, body, **sign(HELLO))

    logged = caplog.text + "".join(capsys.readouterr())
    assert "unparsable" in logged
    assert secret_words not in logged
    assert SECRET not in logged


async def test_what_comes_first_is_dated_by_the_stores_clock_and_asked_for_again_while_that_is_unknown(
    store: RememberingStore,
) -> None:
    asked: list[int] = []
    known = store.server_ms

    async def server_ms() -> int:
        asked.append(1)
        if len(asked) == 1:
            raise StoreUnavailable("it is away")
        return await known()

    store.server_ms = server_ms  # type: ignore[method-assign]  # the one thing that differs from the store's own
    app = create_app(make_settings(), store, clock_ms=then)
    async with client_of(app) as client:
        answers = [(await post(client)).status_code for _ in range(3)]

    assert answers == [503, 200, 200]
    assert len(asked) == 2
