"""A port that is picked for another process belongs to nobody else until that process opens it."""

import errno
import socket
import sys

import pytest

from sandbox.ports import reserved_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no port can be held for another process")


def test_who_connects_before_the_server_is_there_is_refused() -> None:
    with reserved_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_its_server_opens_it_and_opens_it_again(host: str) -> None:
    with reserved_port() as port:
        for _ in range(2):
            with socket.create_server((host, port)), socket.create_connection(("127.0.0.1", port)):
                pass


def test_another_socket_cannot_have_it() -> None:
    with reserved_port() as port, socket.socket() as stranger, pytest.raises(OSError, match="in use") as caught:
        stranger.bind(("127.0.0.1", port))

    assert caught.value.errno == errno.EADDRINUSE


def test_no_two_are_the_same() -> None:
    with reserved_port() as one, reserved_port() as two:
        assert one != two
