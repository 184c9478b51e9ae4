"""More connections than there is room for: the one that has been unfinished for the longest goes, whoever it is."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.webhooks.guards.raw import Receiver, request, serve, signed, statuses, until_closed
from webhooks.guards.connections import FILES_FOR_OTHERS, MOST, Connections, most_connections

CAP = 20
LIVE = request(method=b"GET", target=b"/health/live")
BEGUN = signed()[:-1]


class Stranger:
    """A connection as `Connections` sees it."""

    def __init__(self) -> None:
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


@pytest.fixture
def crowd() -> Connections:
    return Connections(3, heads_bytes=100)


def opened(crowd: Connections, number: int) -> list[Stranger]:
    strangers = [Stranger() for _ in range(number)]
    for stranger in strangers:
        crowd.opened(stranger)
    return strangers


def dropped(strangers: list[Stranger]) -> list[bool]:
    return [stranger.is_dropped for stranger in strangers]


def test_the_one_that_has_been_silent_for_the_longest_makes_room(crowd: Connections) -> None:
    strangers = opened(crowd, 5)

    assert dropped(strangers) == [True, True, False, False, False]
    assert (crowd.open, crowd.dropped) == (3, 2)


def test_what_is_being_answered_is_never_dropped(crowd: Connections) -> None:
    busy = opened(crowd, 3)
    for connection in busy:
        crowd.whole(connection)
    [late] = opened(crowd, 1)
    crowd.answered(busy[1])
    [later] = opened(crowd, 1)

    assert dropped(busy) == [False, True, False]
    assert (late.is_dropped, later.is_dropped) == (True, False)


def test_an_unfinished_one_goes_before_an_idle_one(crowd: Connections) -> None:
    strangers = opened(crowd, 3)
    for connection in strangers[:2]:
        crowd.whole(connection)
        crowd.answered(connection)
    opened(crowd, 1)
    after_one = dropped(strangers)
    crowd.begun(strangers[0])
    opened(crowd, 2)

    assert after_one == [False, False, True]
    assert dropped(strangers) == [True, False, True]


def test_unfinished_heads_have_one_bound_for_all(crowd: Connections) -> None:
    strangers = opened(crowd, 3)
    crowd.holds(strangers[1], 60)
    crowd.holds(strangers[2], 40)
    kept = dropped(strangers)
    crowd.holds(strangers[2], 1)

    assert kept == [False, False, False]
    assert dropped(strangers) == [False, True, False]
    crowd.has_head(strangers[2])
    crowd.holds(strangers[0], 100)
    assert not strangers[0].is_dropped


@pytest.mark.parametrize(("files", "most"), [(65_536, MOST), (1024, 1024 - FILES_FOR_OTHERS), (256, 128), (1, 1)])
def test_connections_leave_files_for_others(files: int, most: int) -> None:
    assert most_connections(files) == most


# The same over sockets.


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    yield from serve(keep_alive_seconds=75, head_seconds=60, connections=Connections(CAP, heads_bytes=64 * 1024))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def come(receiver: Receiver, stack: ExitStack, number: int, said: bytes = b"") -> list[socket.socket]:
    strangers = [stack.enter_context(receiver.connect()) for _ in range(number)]
    for stranger in strangers:
        stranger.sendall(said)
    return strangers


def metric(receiver: Receiver, name: str) -> float:
    shown = receiver.hears(request(b"Connection: close", method=b"GET", target=b"/metrics"))
    [value] = re.findall(rf"(?m)^{name} (\S+)".encode(), shown)
    return float(value)


@pytest.mark.parametrize("said", [b"", b"POST /web", BEGUN], ids=["silent", "half a head", "half a body"])
def test_strangers_that_never_finish_keep_nobody_out(
    receiver: Receiver,
    stack: ExitStack,
    said: bytes,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    strangers = come(receiver, stack, 3 * CAP, said)
    [meta] = come(receiver, stack, 1, signed())

    assert statuses(meta.recv(65536)) == [200]
    for stranger in strangers[: 2 * CAP]:
        assert until_closed(stranger) == b""
    assert metric(receiver, "nightshift_dropped_connections_total") >= 2 * CAP + 1
    assert metric(receiver, "nightshift_open_connections") <= CAP
    printed = capsys.readouterr().out or caplog.text  # the same line may stand in both
    assert printed.count("connections_dropped") == 1


def test_strangers_that_were_answered_and_stay_keep_nobody_out(receiver: Receiver, stack: ExitStack) -> None:
    for _ in range(3 * CAP):
        [stranger] = come(receiver, stack, 1, LIVE)
        assert statuses(stranger.recv(65536)) == [200]
    [meta] = come(receiver, stack, 1, signed())

    assert statuses(meta.recv(65536)) == [200]


def test_a_connection_in_use_is_not_dropped_for_silent_ones(receiver: Receiver, stack: ExitStack) -> None:
    [meta] = come(receiver, stack, 1)
    for _ in range(5):
        meta.sendall(signed())
        assert statuses(meta.recv(65536)) == [200]
        come(receiver, stack, CAP)


def test_large_heads_that_never_end_make_room(receiver: Receiver, stack: ExitStack) -> None:
    strangers = come(receiver, stack, 10, b"GET / HTTP/1.1\r\nX: " + b"a" * 15_000)

    for stranger in strangers[:5]:
        assert until_closed(stranger) == b""
    assert metric(receiver, "nightshift_dropped_connections_total") >= 5


def test_a_large_head_in_one_piece_is_refused(receiver: Receiver) -> None:
    heard = receiver.hears(request(b"X-Large: " + b"a" * 17_000, method=b"GET", target=b"/health/live"))

    assert statuses(heard) == [400]


def test_what_comes_with_a_question_is_not_kept(receiver: Receiver, stack: ExitStack) -> None:
    [stranger] = come(receiver, stack, 1)
    stranger.sendall(request(b"Content-Length: 5", method=b"GET", target=b"/health/live", body=b"hello") + LIVE)
    heard = b""
    while len(statuses(heard)) < 2:
        heard += stranger.recv(65536)

    assert statuses(heard) == [200, 200]
