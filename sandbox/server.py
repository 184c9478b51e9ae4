"""Runs a stand-in as a real HTTP server: in a thread beside a test or the demo, or alone as a process."""

import argparse
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from sandbox.patience import PATIENCE_SECONDS


class SandboxServer:
    """`app` on 127.0.0.1, on a free port unless one is given; started by `start()` or by entering the context.

    `url` has no trailing slash and is known from the beginning, since the socket is bound at once. `stop()` may be
    called twice; it ends requests that still hang, so a test of a silent server does not wait for it.
    """

    def __init__(self, app: Starlette, port: int = 0) -> None:
        self.app = app
        self._socket = socket.create_server(("127.0.0.1", port), backlog=2048)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = uvicorn.Server(_config(app))
        self._thread = threading.Thread(target=self._run, name=f"sandbox-{self.port}", daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the stand-in on port {self.port} did not start")
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(PATIENCE_SECONDS)
        self._socket.close()
        if self._thread.is_alive():
            raise RuntimeError(f"the stand-in on port {self.port} did not stop")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(make_app: Callable[[], Starlette], *, name: str, port: int) -> None:
    """The body of `python -m sandbox.<name> [--host H] [--port N]`: serves until it is interrupted."""
    parser = argparse.ArgumentParser(prog=f"python -m sandbox.{name}")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port)
    args = parser.parse_args()
    sys.stderr.write(f"sandbox {name} on http://{args.host}:{args.port}\n")
    uvicorn.run(make_app(), host=args.host, port=args.port, log_level="warning", ws="none", access_log=False)


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        # uvicorn says "critical" of nothing we need to see, and a hanging request that is cancelled is meant to be.
        log_level="critical",
        access_log=False,
        ws="none",
        loop="asyncio",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=0,
    )
