"""The receiving end of Sentry: takes envelopes, opens them, and keeps what came."""

import gzip
import threading
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.server import SandboxServer

KEY: Final = "0123456789abcdef0123456789abcdef"


class SentrySandbox:
    """`raw` holds each envelope as it was on the wire, unpacked; safe to read from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._raw: list[bytes] = []
        self.app = Starlette(routes=[Route("/api/{project}/envelope/", self._envelope, methods=["POST"])])

    def dsn(self, server: SandboxServer) -> str:
        return f"http://{KEY}@127.0.0.1:{server.port}/1"

    @property
    def raw(self) -> list[bytes]:
        with self._lock:
            return list(self._raw)

    def items(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of one type: "event", "transaction", ..."""
        return [payload for envelope in self.raw for item, payload in opened(envelope) if item == kind]

    async def _envelope(self, http: Request) -> Response:
        body = await http.body()
        if http.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with self._lock:
            self._raw.append(body)
        return JSONResponse({})


def opened(envelope: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The items of an envelope whose payloads are JSON; https://develop.sentry.dev/sdk/data-model/envelopes/."""
    items: list[tuple[str, dict[str, Any]]] = []
    _, _, rest = envelope.partition(b"\n")
    while rest:
        head, _, rest = rest.partition(b"\n")
        if not head.strip():
            continue
        header = orjson.loads(head)
        length = header.get("length", rest.find(b"\n") if b"\n" in rest else len(rest))
        payload, rest = rest[:length], rest[length:].removeprefix(b"\n")
        items.append((header["type"], orjson.loads(payload)))
    return items
