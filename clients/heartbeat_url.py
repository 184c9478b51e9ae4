"""Fetches the address of an outside service, which rings when these fetches stop."""

import asyncio

import httpx

from clients.http import make_http_client

PATIENCE_SECONDS = 10.0


class HeartbeatURL:
    """Belongs to the event loop of its first call; `aclose()` ends its connections."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = make_http_client(limit=2)

    async def fetch(self) -> str:
        """ "" when it was taken, else the reason, without the address: who knows that can keep the bell silent."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                response = await self._http.get(self._url)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as exc:
            return type(exc).__name__
        return "" if response.status_code < httpx.codes.BAD_REQUEST else f"status {response.status_code}"

    async def aclose(self) -> None:
        await self._http.aclose()
