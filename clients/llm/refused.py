"""A response that is no answer, as far as it can be read."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

from clients.llm.completions import parse_json

MAX_ERROR_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """Its status, its body as far as it is JSON, and its Retry-After.

    `status` is None for an error that came inside a 200 before any answer.
    """

    status: int | None
    body: Any
    retry_after: str | None = None


async def read_refusal(response: httpx.Response) -> Refusal:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_ERROR_BYTES:
            break
    try:
        body = parse_json(bytes(data))
    except ValueError:
        body = None  # a proxy's HTML page, or nothing: the status is all there is
    return Refusal(response.status_code, body, response.headers.get("retry-after"))
