"""The shared HTTP client, against bare sockets that misbehave in one way each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from clients.http import NEVER_LEFT, make_http_client
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port

pytestmark = pytest.mark.anyio

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=2048)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def read_head(reader: asyncio.StreamReader) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def test_what_the_client_leaves_out_cannot_be_asked_for(http: httpx.AsyncClient) -> None:
    with pytest.raises(TypeError, match="auth, follow_redirects"):
        await http.get("http://127.0.0.1:9/", auth=("user", "password"))


async def test_a_closed_client_sends_nothing() -> None:
    http = make_http_client()
    await http.aclose()

    with pytest.raises(RuntimeError):
        await http.get("http://127.0.0.1:9/")


async def test_a_refused_connection_never_left(http: httpx.AsyncClient) -> None:
    with reserved_port() as port, pytest.raises(httpx.ConnectError) as caught:
        await http.post(f"http://127.0.0.1:{port}/", content=b"x")

    assert isinstance(caught.value, NEVER_LEFT)


async def test_an_address_that_is_not_http_never_left(http: httpx.AsyncClient) -> None:
    with pytest.raises(NEVER_LEFT):
        await http.post("ftp://127.0.0.1/", content=b"x")


async def test_a_tls_failure_never_left(http: httpx.AsyncClient) -> None:
    async def speaks_no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(speaks_no_tls) as url:
        with pytest.raises(httpx.ConnectError):
            await http.post(url.replace("http:", "https:"), content=b"x")


async def test_a_connection_closed_after_the_request_may_have_arrived(http: httpx.AsyncClient) -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_head(reader)

    async with serving(hang_up) as url:
        with pytest.raises(httpx.TransportError) as caught:
            await http.post(url, content=b"x")

    assert not isinstance(caught.value, NEVER_LEFT)


async def test_a_connection_reset_after_the_request_may_have_arrived(http: httpx.AsyncClient) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.transport.abort()

    async with serving(reset) as url:
        with pytest.raises(httpx.TransportError) as caught:
            await http.post(url, content=b"x")

    assert not isinstance(caught.value, NEVER_LEFT)


async def test_a_body_cut_short_is_a_read_error(http: httpx.AsyncClient) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        await writer.drain()

    async with serving(cut) as url:
        with pytest.raises(httpx.ReadError):
            await http.post(url, content=b"x")


async def test_a_server_that_speaks_something_else_may_have_acted(http: httpx.AsyncClient) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()

    async with serving(nonsense) as url:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(url, content=b"x")


async def test_a_read_timeout_asked_for_by_the_caller_is_one(http: httpx.AsyncClient) -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as url:
        with pytest.raises(httpx.ReadTimeout):
            await http.post(url, content=b"x", timeout=0.05)


async def test_no_error_repeats_the_address(http: httpx.AsyncClient) -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_head(reader)

    async with serving(hang_up) as url:
        with pytest.raises(httpx.TransportError) as caught:
            await http.post(f"{url}bot123456:invented-token/sendMessage", content=b"x")

    assert "invented-token" not in str(caught.value)


async def test_cancelling_a_call_closes_its_connection(http: httpx.AsyncClient) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_head(reader)
        asked.set()
        await reader.read()
        closed.set()

    async with serving(silent) as url:
        call = asyncio.create_task(http.post(url, content=b""))
        await asyncio.wait_for(asked.wait(), PATIENCE_SECONDS)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        await asyncio.wait_for(closed.wait(), PATIENCE_SECONDS)


async def test_three_hundred_cancelled_calls_leave_no_connection_behind() -> None:
    open_now = 0
    all_in, all_out = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        nonlocal open_now
        await read_head(reader)
        open_now += 1
        if open_now == 300:
            all_in.set()
        await reader.read()
        open_now -= 1
        if open_now == 0:
            all_out.set()

    async with serving(silent) as url, make_http_client(limit=300) as http:
        calls = [asyncio.create_task(http.post(url, content=b"")) for _ in range(300)]
        await asyncio.wait_for(all_in.wait(), PATIENCE_SECONDS)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

        await asyncio.wait_for(all_out.wait(), PATIENCE_SECONDS)
    assert open_now == 0


async def test_calls_beyond_the_limit_wait_for_their_turn() -> None:
    most = now = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal most, now
        await read_head(reader)
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()

    async with serving(slow) as url, make_http_client(limit=3) as http:
        answers = await asyncio.gather(*(http.get(url) for _ in range(12)))

    assert [answer.status_code for answer in answers] == [204] * 12
    assert most == 3


async def test_no_redirect_is_followed_and_no_cookie_kept(http: httpx.AsyncClient) -> None:
    heads: list[bytes] = []

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(
            b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\nset-cookie: a=b\r\ncontent-length: 0\r\n"
            b"connection: close\r\n\r\n"
        )
        await writer.drain()

    async with serving(redirect) as url:
        first = await http.get(url)
        await http.get(url)

    assert first.status_code == 302
    assert len(heads) == 2
    assert b"cookie" not in heads[1].lower()


async def test_a_base_url_and_headers_belong_to_every_call() -> None:
    heads: list[bytes] = []

    async def empty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()

    async with serving(empty) as url, make_http_client(base_url=url, headers={"x-from": "nightshift"}) as http:
        await http.get("me/messages")

    assert heads[0].startswith(b"GET /me/messages HTTP/1.1\r\n")
    assert b"x-from: nightshift" in heads[0].lower()
