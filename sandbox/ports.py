"""Ports for servers that other processes open: bound here when they are picked, so that they are still free then."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that stays bound, and not listened on, until the block ends.

    The kernel then gives it neither to a server that asks for any port nor to an outgoing connection, refuses who
    connects, and lets a server bind it too that sets SO_REUSEADDR, again and again (uvicorn, Tornado and Valkey do;
    socket(7)). Only Linux does: elsewhere the port is merely free when it is picked.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield port
