import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from bot.errors import NightshiftError
from bot.incoming.events import CustomerMessage, Event, Noted
from sandbox.patience import PATIENCE_SECONDS
from store.connection import StoreUnavailable
from tests.growth import MOST, growth
from tests.webhooks.support import (
    RECEIVED_MS,
    SECRET,
    VERIFY_TOKEN,
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

HELLO = json.dumps(instagram(message("aWdf_1", text="Привет 🚀"))).encode()
PATH = "/webhooks/meta"
SIGNED = (b"x-hub-signature-256", sign(HELLO)["X-Hub-Signature-256"].encode())


def then() -> int:
    """The receiver's clock: the payloads of these tests are of that day."""
    return RECEIVED_MS


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://receiver")


async def post(client: httpx.AsyncClient, body: bytes = HELLO, **headers: str) -> httpx.Response:
    return await client.post(PATH, content=body, headers=headers or sign(body))


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


# POST: what is refused.


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256=00"},
        {"X-Hub-Signature": "sha1=a173ad320ed4e5448cdb342078fcd4d015415856"},
        sign(HELLO, "another secret"),
        sign(HELLO + b" "),
    ],
)
async def test_an_unsigned_body_is_forbidden_and_does_nothing(
    client: httpx.AsyncClient, store: RememberingStore, headers: dict[str, str]
) -> None:
    answer = await client.post(PATH, content=HELLO, headers=headers)

    assert answer.status_code == 403
    assert store.calls == []


async def test_any_configured_secret_signs(store: RememberingStore) -> None:
    async with client_of(create_app(make_settings(secrets=f"first, {SECRET} ,"), store)) as client:
        assert (await post(client)).status_code == 200
        assert (await post(client, HELLO, **sign(HELLO, "first"))).status_code == 200
        assert (await post(client, HELLO, **sign(HELLO, ""))).status_code == 403


@pytest.mark.parametrize("secrets", ["", " , "])
async def test_without_a_secret_there_is_no_endpoint(store: RememberingStore, secrets: str) -> None:
    async with client_of(create_app(make_settings(secrets=secrets), store)) as client:
        answer = await post(client, HELLO, **sign(HELLO, ""))

    assert answer.status_code == 403
    assert store.calls == []


async def test_a_body_over_the_cap_is_refused_unread(store: RememberingStore) -> None:
    async def no_more() -> Any:
        pytest.fail("the body was read")

    sent: list[Any] = []

    async def keep(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "headers": [SIGNED, (b"content-length", str(8 * 1024 * 1024 + 1).encode())],
    }
    await create_app(make_settings(), store)(scope, no_more, keep)

    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_a_body_that_grows_past_the_cap_is_left(store: RememberingStore) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 600
        pytest.fail("read on")

    async with client_of(create_app(make_settings(), store, limits=Limits(body_bytes=1000))) as client:
        assert (await client.post(PATH, content=endless(), headers=sign(b""))).status_code == 413
        assert (await post(client, b"x" * 1001)).status_code == 413
        assert (await post(client, b"x" * 1000)).status_code == 200


@pytest.mark.parametrize("signature", [None, b"", b"sha256=00", b"sha1=" + b"0" * 40, b"sha256=" + b"g" * 64])
async def test_a_body_without_a_signature_is_forbidden_unread(store: RememberingStore, signature: bytes | None) -> None:
    async def no_more() -> Any:
        pytest.fail("the body was read")

    sent: list[Any] = []

    async def keep(event: Any) -> None:
        sent.append(event)

    headers = [] if signature is None else [(b"x-hub-signature-256", signature)]
    await create_app(make_settings(), store)(
        {"type": "http", "method": "POST", "path": PATH, "headers": headers}, no_more, keep
    )

    assert sent[0]["status"] == 403
    assert (b"connection", b"close") in sent[0]["headers"]


# POST: unfinished bodies.


class UnfinishedBody:
    """Sends some bytes, and the last one when it is let."""

    def __init__(self, size: int, body: bytes = b"") -> None:
        self.body = body or b"x" * size
        self.sent = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body[:-1]
        self.sent.set()
        await self.goes_on.wait()
        yield self.body[-1:]

    async def post(self, app: Any) -> int:
        """The status; through the application itself, since httpx's own transport reads a body before it asks."""
        chunks = self.chunks()
        status: list[int] = []

        async def receive() -> Any:
            chunk = await anext(chunks, b"")
            return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

        async def send(message: Any) -> None:
            status.append(message.get("status", 0))

        signature = (b"x-hub-signature-256", sign(self.body)["X-Hub-Signature-256"].encode())
        await app({"type": "http", "method": "POST", "path": PATH, "headers": [signature]}, receive, send)
        return status[0]


async def test_unfinished_bodies_have_one_bound_and_the_oldest_makes_room(store: RememberingStore) -> None:
    app = create_app(make_settings(), store, limits=Limits(body_bytes=1000, all_bodies_bytes=2500), clock_ms=then)
    first, second, third = (UnfinishedBody(1000) for _ in range(3))
    waiting = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        for body in (first, second, third):
            waiting.append(asyncio.create_task(body.post(app)))
            await body.sent.wait()
        given_up = await waiting[0]
        second.goes_on.set()
        third.goes_on.set()
        others = await asyncio.gather(*waiting[1:])

    assert (given_up, others) == (503, [200, 200])


async def test_the_smallest_bodies_count_from_their_first_byte(store: RememberingStore) -> None:
    app = create_app(make_settings(), store, limits=Limits(all_bodies_bytes=1050), clock_ms=then)
    bodies = [UnfinishedBody(101) for _ in range(20)]
    async with asyncio.timeout(5):
        posts = [asyncio.create_task(body.post(app)) for body in bodies]
        given_up = [await post for post in posts[:10]]
        for body in bodies[10:]:
            body.goes_on.set()
        kept = [await post for post in posts[10:]]

    assert (given_up, kept) == ([503] * 10, [200] * 10)


async def test_an_ordinary_body_is_taken_whatever_the_unfinished_ones_hold(store: RememberingStore) -> None:
    app = create_app(make_settings(), store, limits=Limits(body_bytes=2000, all_bodies_bytes=2000), clock_ms=then)
    unfinished = UnfinishedBody(2000)
    waiting = asyncio.create_task(unfinished.post(app))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await unfinished.sent.wait()
    async with client_of(app) as client:
        answer = await post(client)
        again = await post(client)
    async with asyncio.timeout(5):
        given_up = await waiting

    assert (answer.status_code, again.status_code, given_up) == (200, 200, 503)


@pytest.mark.parametrize("end", ["gone", "slow", "too large", "unsigned"])
async def test_however_a_body_ends_its_room_is_free_again(store: RememberingStore, end: str) -> None:
    limits = Limits(body_bytes=1000, all_bodies_bytes=1500, body_seconds=0.5)
    app = create_app(make_settings(), store, limits=limits)
    for _ in range(3):
        messages = iter(
            [
                {"type": "http.request", "body": b"x" * 900, "more_body": True},
                {"type": "http.disconnect"}
                if end == "gone"
                else {"type": "http.request", "body": b"x" * (101 if end == "too large" else 100), "more_body": False},
            ]
        )

        async def receive(messages: Any = messages) -> Any:
            message = next(messages)
            if end == "slow" and not message["more_body"]:
                await asyncio.Event().wait()
            return message

        async def send(message: Any) -> None:
            pass

        await app({"type": "http", "method": "POST", "path": PATH, "headers": [SIGNED]}, receive, send)
    whole = UnfinishedBody(1000)
    whole.goes_on.set()

    assert await whole.post(app) == 200


async def test_a_slow_body_is_given_up(store: RememberingStore) -> None:
    async def stuck() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with client_of(create_app(make_settings(), store, limits=Limits(body_seconds=0.5))) as client:
        answer = await client.post(PATH, content=stuck(), headers=sign(HELLO))

    assert answer.status_code == 408


async def test_a_client_that_leaves_gets_no_answer(store: RememberingStore) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def keep(event: Any) -> None:
        sent.append(event)

    app = create_app(make_settings(), store)
    await app({"type": "http", "method": "POST", "path": PATH, "headers": [SIGNED]}, receive, keep)

    assert sent == []
    assert store.calls == []


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
