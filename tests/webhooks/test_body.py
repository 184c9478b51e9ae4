"""POST: what is refused, unread where it can be, and what unfinished bodies may take."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from sandbox.patience import PATIENCE_SECONDS
from tests.webhooks.posting import HELLO, PATH, client_of, post, then
from tests.webhooks.support import (
    SECRET,
    RememberingStore,
    make_settings,
    sign,
)
from webhooks.app import create_app
from webhooks.endpoints import Limits

pytestmark = pytest.mark.anyio

SIGNED = (b"x-hub-signature-256", sign(HELLO)["X-Hub-Signature-256"].encode())


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
