"""Connections: how long they may stay, how much they may bring, and what they are told."""

import re
import time
from collections.abc import Iterator

import pytest

from tests.webhooks.raw import (
    HEAD_SECONDS,
    PATH,
    SIGNED,
    Receiver,
    request,
    sends_until_cut_off,
    serve,
    signed,
    statuses,
    until_closed,
)
from tests.webhooks.support import VERIFY_TOKEN


@pytest.fixture(scope="module")
def prompt() -> Iterator[Receiver]:
    """Closes right after its last answer."""
    yield from serve(keep_alive_seconds=0)


@pytest.fixture(scope="module")
def patient() -> Iterator[Receiver]:
    yield from serve(keep_alive_seconds=75)


def test_requests_in_one_go_are_answered_in_order(prompt: Receiver) -> None:
    prompt.store.calls.clear()

    heard = prompt.hears(
        signed()
        + request(b"Content-Length: 0", method=b"PUT")
        + request(target=b"/health/live", method=b"GET")
        + signed()
    )

    assert statuses(heard) == [200, 405, 200, 200]
    assert len(prompt.store.calls) == 2


@pytest.mark.parametrize("nothing", [b"", b"\r\n"])
def test_a_connection_that_is_never_used_is_closed_without_a_word(patient: Receiver, nothing: bytes) -> None:
    assert patient.hears(nothing) == b""


@pytest.mark.parametrize("begun", [b"P", b"POST /web", request(b"X-A: b")[:-2]])
def test_a_request_that_never_begins_is_ended(patient: Receiver, begun: bytes) -> None:
    heard = patient.hears(begun)

    assert statuses(heard) == [408]


def test_a_request_that_never_begins_is_ended_on_a_connection_in_use_too(patient: Receiver) -> None:
    with patient.connect() as connection:
        connection.sendall(signed())
        assert statuses(connection.recv(65536)) == [200]
        connection.sendall(b"POS")
        heard = until_closed(connection)

    assert statuses(heard) == [408]


def test_endless_headers_are_cut_off(patient: Receiver) -> None:
    with patient.connect() as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\n")
        sent = sends_until_cut_off(connection, b"X-Long: %s\r\n" % (b"a" * 8000), times=5000)

    assert sent < 2500  # most of that is what the system holds for a socket


def test_a_body_that_trickles_after_its_answer_is_ended(patient: Receiver) -> None:
    with patient.connect() as connection:
        connection.sendall(request(b"Content-Length: 1000000", method=b"GET", target=b"/health/live"))
        assert statuses(connection.recv(65536)) == [200]
        sent = sends_until_cut_off(connection, b"x", times=400, every_seconds=0.02)

    assert sent < 400


@pytest.mark.parametrize("framing", [b"Content-Length: 400", b"Transfer-Encoding: chunked"])
def test_a_slow_body_is_told_so_and_ended(patient: Receiver, framing: bytes) -> None:
    started = time.monotonic()
    heard = patient.hears(request(b"X-Hub-Signature-256: " + SIGNED, framing, body=b"7\r\n"))

    assert statuses(heard) == [408]
    assert time.monotonic() - started < 5


def test_a_head_in_pieces_is_a_head(patient: Receiver) -> None:
    patient.store.calls.clear()
    with patient.connect() as connection:
        for start in range(0, len(signed()), 40):
            connection.sendall(signed()[start : start + 40])
            time.sleep(0.002)
        heard = connection.recv(65536)

    assert statuses(heard) == [200]
    assert len(patient.store.calls) == 1


def test_a_connection_in_use_outlives_the_patience_for_heads(patient: Receiver) -> None:
    with patient.connect() as connection:
        for _ in range(4):
            connection.sendall(signed())
            assert statuses(connection.recv(65536)) == [200]
            time.sleep(HEAD_SECONDS / 2)


# Answers.


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        (PATH, {b"GET", b"HEAD", b"POST"}),
        (PATH + b"/", {b"GET", b"HEAD", b"POST"}),
        (b"/health/live", {b"GET", b"HEAD"}),
        (b"/metrics", {b"GET", b"HEAD"}),
    ],
)
def test_another_method_is_told_which_are_allowed(prompt: Receiver, target: bytes, allowed: set[bytes]) -> None:
    heard = prompt.hears(request(b"Content-Length: 0", method=b"DELETE", target=target))

    [allow] = re.findall(rb"(?i)\nallow: ([^\r]+)", heard)
    assert statuses(heard) == [405]
    assert set(allow.split(b", ")) == allowed


@pytest.mark.parametrize("target", [b"/health/live/", b"/metrics/", PATH + b"/x/"])
def test_nobody_is_sent_elsewhere(prompt: Receiver, target: bytes) -> None:
    heard = prompt.hears(request(b"X-Forwarded-Host: elsewhere.invalid", method=b"GET", target=target))

    assert statuses(heard) == [404]
    assert b"location" not in heard.lower()


def test_the_address_may_end_in_a_slash(prompt: Receiver) -> None:
    query = b"/?hub.mode=subscribe&hub.challenge=42&hub.verify_token=" + VERIFY_TOKEN.encode()

    heard = prompt.hears(request(method=b"GET", target=PATH + query))

    assert statuses(heard) == [200]
    assert heard.endswith(b"\r\n\r\n42")


def test_a_head_has_no_body(prompt: Receiver) -> None:
    heard = prompt.hears(request(method=b"HEAD", target=b"/health/live"))

    assert statuses(heard) == [200]
    assert heard.endswith(b"\r\n\r\n")
