"""One HTTP client that holds a thousand calls in flight, and errors that tell what certainly never left.

httpx's own pool scans all its connections on every change and collapses at about a hundred calls in flight
(https://github.com/encode/httpx/issues/3215), so httpx speaks here over an aiohttp transport.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any, Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from clients.proxies import Proxies

KEEPALIVE_SECONDS = 20.0
DNS_CACHE_SECONDS = 30
CHUNK_BYTES: Final = 16 * 1024
_NO_TIMEOUT: Final = aiohttp.ClientTimeout()

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
    It follows no redirect and keeps no cookie; the usual variables may name a proxy, see `clients.proxies`. It belongs
    to the event loop of its first call.
    """
    return _Client(_Transport(limit), base_url=base_url, headers=dict(headers or {}), timeout=None, trust_env=False)


@cache
def _tls_context() -> ssl.SSLContext:
    """Shared by all clients, since each costs about a megabyte; SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
    return httpx.create_ssl_context()


class _Client(httpx.AsyncClient):
    """Goes straight to its transport: what httpx does between (auth, redirects, cookies, hooks) is off for us anyway,
    and would take twice the time of the transport itself."""

    def __init__(self, transport: httpx.AsyncBaseTransport, **options: Any) -> None:
        super().__init__(transport=transport, **options)
        self._straight = transport

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        if any(value is not httpx.USE_CLIENT_DEFAULT for value in options.values()):
            raise TypeError(f"this client knows nothing of {', '.join(options)}")
        if self.is_closed:
            raise RuntimeError("the client has been closed")
        response = await self._straight.handle_async_request(request)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response


class _Transport(AiohttpTransport):
    """httpx-aiohttp calls a connection lost *after* the request a `ConnectTimeout`; this one tells them apart."""

    def __init__(self, limit: int) -> None:
        super().__init__(verify=_tls_context(), client=lambda: _session(limit))
        self._proxies = Proxies.from_environment()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not isinstance(self.client, aiohttp.ClientSession):
            self.client = self.get_client()
        try:
            answer = await self.client.request(
                request.method,
                str(request.url),
                headers=request.headers.multi_items(),
                data=await request.aread() or None,
                allow_redirects=False,
                auto_decompress=False,
                proxy=self._proxies.of(request.url),
                timeout=_timeout(request.extensions.get("timeout")),
            )
        except (aiohttp.ClientError, TimeoutError) as exc:
            raise _honest(exc) from exc
        return httpx.Response(answer.status, headers=answer.raw_headers, stream=_Stream(answer), request=request)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_chunked(CHUNK_BYTES):
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as exc:
            raise _honest(exc) from exc

    async def aclose(self) -> None:
        """Back to the pool with the connection, if all of the answer was read; else it is closed."""
        try:
            self._answer.release()
            await self._answer.wait_for_close()
        except (aiohttp.ClientError, TimeoutError) as exc:
            raise _honest(exc) from exc


def _timeout(asked: Mapping[str, float | None] | None) -> aiohttp.ClientTimeout:
    if asked is None or not any(asked.values()):
        return _NO_TIMEOUT
    return aiohttp.ClientTimeout(
        connect=asked.get("pool"), sock_connect=asked.get("connect"), sock_read=asked.get("read")
    )


class _Connector(aiohttp.TCPConnector):
    """Says of a proxy that refused or broke off what is so: the request never left, for there was no tunnel yet."""

    async def _create_proxy_connection(self, req: Any, *rest: Any) -> Any:
        try:
            return await super()._create_proxy_connection(req, *rest)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientError, OSError) as exc:
            raise aiohttp.ClientProxyConnectionError(req.connection_key, OSError(type(exc).__name__)) from exc


def _session(limit: int) -> aiohttp.ClientSession:
    connector = _Connector(
        limit=limit, ssl=_tls_context(), keepalive_timeout=KEEPALIVE_SECONDS, ttl_dns_cache=DNS_CACHE_SECONDS
    )
    # Not aiohttp's own way to a proxy: it would read ~/.netrc as well, and answer for our Authorization header.
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


def _honest(exc: Exception) -> httpx.TransportError:
    """The class says it all; aiohttp's own words can hold the whole URL, and Telegram's token is in the URL."""
    return _kind_of(exc)(type(exc).__name__)


def _kind_of(cause: Exception) -> type[httpx.TransportError]:
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
        case _:
            return httpx.ReadError
