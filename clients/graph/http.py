"""One HTTP call to Meta: token, deadline, body, and what its answer or its silence means."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx
import orjson

from bot.errors import OutcomeUnknown
from clients.graph.errors import (
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    SendOutcomeUnknown,
    TokenInvalid,
    error_from_body,
)
from clients.graph.usage import read_retry_after_seconds, read_usage_percent
from clients.http import NEVER_LEFT
from runtime.settings import Account


class Answer(NamedTuple):
    """A success. `usage_percent`: how full the tightest allowance is, 0 where Meta does not tell."""

    status: int
    body: dict[str, Any]
    usage_percent: float


class GraphHTTP:
    """Calls below `root`, with the token of `account`. Nothing here tries twice."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        root: str,
        account: Account,
        timeout_seconds: float,
        connect_seconds: float,
    ) -> None:
        self._http = http
        self._root = root
        self._account = account
        self._timeout_seconds = timeout_seconds
        # A connection that is not there yet proves that nothing left, so waiting for it is timed apart.
        self._timeout = httpx.Timeout(None, connect=connect_seconds, pool=connect_seconds)

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        harmless: bool = False,
    ) -> Answer:
        """Make one call; return only a success.

        `harmless` calls change nothing that a second one would double, so an unknown outcome is merely transient.
        """
        try:
            return await self._attempt(method, path, body, query)
        except OutcomeUnknown as exc:
            if not harmless or not isinstance(exc, GraphAPIError):
                raise
            raise GraphAPIUnavailable(exc.message, exc.status, exc.code, exc.subcode, exc.fbtrace_id) from exc

    async def _attempt(self, method: str, path: str, body: object, query: Mapping[str, str] | None) -> Answer:
        headers = {"Authorization": f"Bearer {self._token()}"}
        content = None
        if body is not None:
            try:
                content = orjson.dumps(body)
            except orjson.JSONEncodeError as exc:
                # Half of a surrogate pair, which a model does write: no JSON holds it.
                raise BadContent("text that cannot be encoded, not sent") from exc
            headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._http.request(
                    method,
                    f"{self._root}/{path}",
                    params=query,
                    content=content,
                    headers=headers,
                    timeout=self._timeout,
                )
        except NEVER_LEFT as exc:
            raise GraphAPIUnavailable(f"never left: {type(exc).__name__}") from exc
        except (httpx.HTTPError, TimeoutError) as exc:
            raise SendOutcomeUnknown(f"no answer: {type(exc).__name__}") from exc
        return self._read(response)

    def _read(self, response: httpx.Response) -> Answer:
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            answer = None
        if response.is_success and isinstance(answer, dict) and "error" not in answer:
            return Answer(response.status_code, answer, read_usage_percent(response.headers) or 0.0)
        raise error_from_body(response.status_code, answer, read_retry_after_seconds(response.headers))

    def _token(self) -> str:
        token = self._account.token.get_secret_value().strip()
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise TokenInvalid("no usable token is set, not called")
        return token
