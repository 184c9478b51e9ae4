"""A site that reaches Meta only through a proxy: what goes through it, what does not, what a failure of it means."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from clients.http import NEVER_LEFT, make_http_client
from clients.proxies import Proxies
from runtime.settings import SettingsInvalid, load_settings

pytestmark = pytest.mark.anyio

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def answering(heads: list[bytes], answer: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()

    return handle


async def test_a_secure_call_asks_the_proxy_for_a_tunnel_and_encrypts_inside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[bytes] = []
    inside: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        inside.set_result(await reader.read(4096))

    async with serving(proxy) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@{address}")
        async with make_http_client() as http:
            with pytest.raises(NEVER_LEFT):  # this proxy hangs up on the handshake
                await http.get("https://graph.example.invalid/v26.0/me", headers={"authorization": "Bearer secret"})

    assert heads[0].startswith(b"CONNECT graph.example.invalid:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:word") in heads[0]
    assert b"secret" not in heads[0]
    hello = await inside
    assert hello[:1] == b"\x16"  # a handshake of TLS
    assert b"graph.example.invalid" in hello


async def test_a_plain_call_goes_through_the_proxy_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []
    fine = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"

    async with serving(answering(heads, fine)) as address:
        monkeypatch.setenv("HTTP_PROXY", address)
        async with make_http_client() as http:
            answer = await http.get("http://graph.example.invalid/me")

    assert answer.status_code == 204
    assert heads[0].startswith(b"GET http://graph.example.invalid/me HTTP/1.1\r\n")


async def test_this_machine_is_never_asked_for_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    heads: list[bytes] = []
    fine = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"

    async with serving(answering(heads, fine)) as address, make_http_client() as http:
        assert (await http.get(f"http://{address}/")).status_code == 204


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
        b"220 mail.example ESMTP\r\n\r\n",
        b"",
    ],
)
async def test_a_proxy_that_makes_no_tunnel_proves_that_nothing_left(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    async with serving(answering([], answer)) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@{address}")
        async with make_http_client() as http:
            with pytest.raises(httpx.TransportError) as caught:
                await http.post("https://graph.example.invalid/me", content=b"x")

    assert isinstance(caught.value, NEVER_LEFT)
    assert "word" not in str(caught.value)


async def test_a_proxy_that_is_not_there_proves_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answering([], b"")) as address:
        gone = address
    monkeypatch.setenv("HTTPS_PROXY", f"http://{gone}")

    async with make_http_client() as http:
        with pytest.raises(NEVER_LEFT):
            await http.post("https://graph.example.invalid/me", content=b"x")


async def test_a_proxy_that_is_silent_is_waited_for_as_long_as_a_connection_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{address}")
        async with make_http_client() as http:
            limits = httpx.Timeout(None, connect=0.1, pool=0.1)
            with pytest.raises(NEVER_LEFT):
                await http.post("https://graph.example.invalid/me", content=b"x", timeout=limits)


@pytest.mark.parametrize(
    ("url", "through"),
    [
        ("https://graph.facebook.com/x", "http://secure:1"),
        ("http://graph.facebook.com/x", "http://other:2"),
        ("https://models.shop.example/v1", None),
        ("https://shop.example/v1", None),
        ("https://notshop.example/v1", "http://secure:1"),
        ("https://10.0.0.5/v1", None),
        ("http://localhost:11434/v1", None),
        ("http://127.0.0.1/v1", None),
        ("http://[::1]:8080/v1", None),
    ],
)
async def test_no_proxy_names_what_is_asked_for_directly(url: str, through: str | None) -> None:
    proxies = Proxies({"https": "http://secure:1", "all": "other:2", "no": "shop.example, 10.0.0.5"})

    assert proxies.of(httpx.URL(url)) == through
    assert proxies.of(httpx.URL(url)) == through


async def test_without_a_proxy_there_is_none() -> None:
    assert Proxies({}).of(httpx.URL("https://graph.facebook.com")) is None
    assert Proxies({"no": "x"}).of(httpx.URL("https://graph.facebook.com")) is None


@pytest.mark.parametrize("proxy", ["socks5://:word@127.0.0.1:1080", "https://proxy.example:443"])
async def test_a_proxy_of_another_kind_is_refused_at_start(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)

    with pytest.raises(SettingsInvalid, match="HTTPS_PROXY begins with") as refused:
        load_settings(redis_required=False)

    assert "word" not in str(refused.value)
