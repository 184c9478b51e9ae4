"""One HTTP client that holds a thousand calls in flight, and errors that tell what certainly never left.

httpx's own pool scans all its connections on every change and collapses at about a hundred calls in flight
(https://github.com/encode/httpx/issues/3215), so httpx speaks here over an aiohttp transport.
"""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

KEEPALIVE_SECONDS = 20.0
DNS_CACHE_SECONDS = 30

# The request, or any byte of it, cannot have reached the other side. Every other `httpx.TransportError` is an
# "unknown": the other side may have acted.
NEVER_LEFT: tuple[type[Exception], ...] = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)


def make_http_client(
    *, base_url: str = "", headers: Mapping[str, str] | None = None, limit: int = 1000
) -> httpx.AsyncClient:
    """An `httpx.AsyncClient` with up to `limit` connections; further calls wait for a free one.

    It has no timeouts of its own: the caller's `asyncio.timeout` ends a call, and cancelling closes its connection.
    It follows no redirect, keeps no cookie and reads no proxy variable. It belongs to the event loop of its first call.
    """
    return httpx.AsyncClient(
        transport=_Transport(limit),
        base_url=base_url,
        headers=dict(headers or {}),
        timeout=None,  # noqa: S113 - deadlines are asyncio's
        follow_redirects=False,
        trust_env=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


@cache
def _tls_context() -> ssl.SSLContext:
    """Shared by all clients, since each costs about a megabyte; SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
    return httpx.create_ssl_context()


class _Transport(AiohttpTransport):
    """httpx-aiohttp calls a connection lost *after* the request a `ConnectTimeout`; this one tells them apart."""

    def __init__(self, limit: int) -> None:
        super().__init__(verify=_tls_context(), client=lambda: _session(limit))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _honest_errors():
            response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - for the type checker
        response.stream = _Stream(response.stream)
        return response


class _Stream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _honest_errors():
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        with _honest_errors():
            await self._stream.aclose()


def _session(limit: int) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=limit, ssl=_tls_context(), keepalive_timeout=KEEPALIVE_SECONDS, ttl_dns_cache=DNS_CACHE_SECONDS
    )
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


@contextmanager
def _honest_errors() -> Iterator[None]:
    try:
        yield
    except (httpx.TransportError, aiohttp.ClientError, TimeoutError) as exc:
        cause = exc.__cause__ if isinstance(exc, httpx.TransportError) else exc
        kind = _kind_of(cause)
        if kind is None:
            raise
        # The class says it all; aiohttp's own words can hold the whole URL, and Telegram's token is in the URL.
        raise kind(type(cause).__name__) from exc


def _kind_of(cause: BaseException | None) -> type[httpx.TransportError] | None:
    match cause:
        case aiohttp.ClientConnectorError():
            return httpx.ConnectError  # name, refused, unreachable, TLS
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return httpx.UnsupportedProtocol
        case TimeoutError():
            return httpx.ReadTimeout
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientResponseError():
            return httpx.RemoteProtocolError
        case aiohttp.ClientError() | OSError():
            return httpx.ReadError
        case _:
            return None
