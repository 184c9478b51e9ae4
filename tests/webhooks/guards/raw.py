"""A receiver behind a real socket, and requests as bytes."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import uvicorn

from sandbox.patience import PATIENCE_SECONDS
from tests.waiting import polls, wait_until
from tests.webhooks.support import RECEIVED_MS, RememberingStore, instagram, make_settings, message, sign
from webhooks.app import create_app
from webhooks.endpoints import Limits
from webhooks.guards.connections import Connections
from webhooks.guards.heads import bounded_by

PATH = b"/webhooks/meta"
HELLO = json.dumps(instagram(message("aWdf_raw", text="Привет"))).encode()
SIGNED = sign(HELLO)["X-Hub-Signature-256"].encode()
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
HEAD_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Receiver:
    port: int
    store: RememberingStore

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def hears(self, data: bytes, *, hang_up: bool = False) -> bytes:
        """All that comes back until the receiver closes, which it has to do by itself in time."""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if hang_up:
                    connection.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may have heard enough
            return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    heard = b""
    for _ in polls(PATIENCE_SECONDS, every_seconds=0):
        try:
            data = connection.recv(65536)
        except ConnectionResetError:
            return heard
        if not data:
            return heard
        heard += data
    pytest.fail(f"the connection did not end: {heard[-500:]!r}")


def sends_until_cut_off(connection: socket.socket, data: bytes, *, times: int, every_seconds: float = 0) -> int:
    """How often it could be sent."""
    for sent in range(times):
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return sent
        time.sleep(every_seconds)
    return times


def serve(
    *,
    keep_alive_seconds: int,
    head_seconds: float = HEAD_SECONDS,
    unread_seconds: float = 20.0,
    send_buffer_bytes: int | None = None,
    store: RememberingStore | None = None,
    connections: Connections | None = None,
) -> Iterator[Receiver]:
    connections = connections or Connections()
    bounded = bounded_by(connections)
    bounded.head_seconds = head_seconds
    bounded.unread_seconds = unread_seconds
    store = store or RememberingStore()
    app = create_app(
        make_settings(),
        store,
        limits=Limits(body_seconds=head_seconds),
        connections=connections,
        clock_ms=lambda: RECEIVED_MS,
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=bounded,
            ws="none",
            lifespan="on",
            log_config=None,
            timeout_keep_alive=keep_alive_seconds,
        )
    )
    listening = socket.create_server(("127.0.0.1", 0))
    if send_buffer_bytes is not None:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), "the receiver to start")
    assert server.started
    try:
        yield Receiver(listening.getsockname()[1], store)
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        listening.close()
        assert not thread.is_alive()


def request(
    *headers: bytes, method: bytes = b"POST", target: bytes = PATH, version: bytes = b"HTTP/1.1", body: bytes = b""
) -> bytes:
    return b"\r\n".join([b"%s %s %s" % (method, target, version), b"Host: localhost", *headers, b"", b""]) + body


def signed(body: bytes = HELLO, *more: bytes, signature: bytes = SIGNED) -> bytes:
    return request(b"X-Hub-Signature-256: " + signature, b"Content-Length: %d" % len(body), *more, body=body)


def chunked(body: bytes, size: int = 50) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def statuses(heard: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(heard)]
