"""Connections: how long they may stay, how much they may bring, and what they are told."""

import asyncio
import os
import re
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.incoming.events import Event
from tests.waiting import wait_until
from tests.webhooks.guards.raw import (
    HEAD_SECONDS,
    HELLO,
    PATH,
    SIGNED,
    Receiver,
    chunked,
    request,
    sends_until_cut_off,
    serve,
    signed,
    statuses,
    until_closed,
)
from tests.webhooks.support import VERIFY_TOKEN, RememberingStore

MIB = 1024 * 1024
STRANGERS = request(b"X-Hub-Signature-256: sha256=" + b"0" * 64, b"Transfer-Encoding: chunked", body=b"1\r\nx\r\n")
LIVE = request(method=b"GET", target=b"/health/live")


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
        sent = sends_until_cut_off(connection, b"x", times=4000, every_seconds=0.02)

    assert sent < 4000


@pytest.mark.parametrize("framing", [b"Content-Length: 400", b"Transfer-Encoding: chunked"])
def test_a_slow_body_is_told_so_and_ended(patient: Receiver, framing: bytes) -> None:
    heard = patient.hears(request(b"X-Hub-Signature-256: " + SIGNED, framing, body=b"7\r\n"))

    assert statuses(heard) == [408]


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


# What no application sees.


@pytest.mark.parametrize(
    ("begun", "endless"),
    [
        (STRANGERS + b"0\r\n", b"a: b\r\n" * 10_000),
        (STRANGERS + b"0\r\na: ", b"a" * 60_000),
        (STRANGERS + b"1;", b"a" * 60_000),
        (STRANGERS, b"1\r\nx\r\n" * 10_000),
    ],
    ids=["trailers", "one trailer", "extension", "smallest chunks"],
)
def test_what_a_stranger_adds_to_a_body_is_cut_off(patient: Receiver, begun: bytes, endless: bytes) -> None:
    before = memory_bytes()
    with patient.connect() as connection, patient.connect() as another:
        another.sendall(LIVE)  # from now on it may be idle
        assert statuses(another.recv(65536)) == [200]
        connection.sendall(begun)
        sent = 0
        while sent < 32 * MIB and sends_until_cut_off(connection, endless, times=1):
            sent += len(endless)
            if sent % (20 * len(endless)) == 0:
                another.sendall(LIVE)
                assert statuses(another.recv(65536)) == [200]

    assert sent < 16 * MIB
    assert memory_bytes() - before < 50 * MIB


@pytest.mark.parametrize("piece", [len(HELLO), 1])
def test_a_small_trailer_costs_no_message(patient: Receiver, piece: int) -> None:
    patient.store.calls.clear()
    body = chunked(HELLO, piece)[:-2] + b"X-Checksum: 1\r\n\r\n"
    head = request(b"X-Hub-Signature-256: " + SIGNED, b"Transfer-Encoding: chunked", b"Trailer: X-Checksum")
    with patient.connect() as connection:
        for _ in range(2):
            connection.sendall(head + body[:-20])
            connection.sendall(body[-20:])
            assert statuses(connection.recv(65536)) == [200]

    assert len(patient.store.calls) == 2


def test_a_head_of_very_many_headers_is_refused(patient: Receiver) -> None:
    heard = patient.hears(request(*[b"a:b"] * 300, method=b"GET", target=b"/health/live"))

    assert statuses(heard) == [400]


def test_requests_that_wait_for_their_turn_are_few(patient: Receiver) -> None:
    before = memory_bytes()
    with patient.connect() as connection:
        sent = sends_until_cut_off(connection, LIVE * 100, times=5000)

    assert sent < 4000  # most of that is what the system holds for a socket
    assert memory_bytes() - before < 50 * MIB


def test_answers_that_nobody_reads_do_not_keep_a_connection() -> None:
    for receiver in serve(keep_alive_seconds=75, unread_seconds=1.0, send_buffer_bytes=4096):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", receiver.port))
            connection.sendall(request(method=b"GET", target=b"/metrics") * 10)
            sent = sends_until_cut_off(connection, b"\r\n", times=1000, every_seconds=0.1)

    assert sent < 1000


class FrozenStore(RememberingStore):
    async def receive(self, events: Sequence[Event]) -> None:
        await asyncio.Event().wait()


def test_whoever_leaves_amid_a_pipeline_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    for receiver in serve(keep_alive_seconds=75, store=FrozenStore()):
        with receiver.connect() as connection:
            connection.sendall(signed() * 3)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            time.sleep(0.1)  # it has to be read first

        def is_counted(receiver: Receiver = receiver) -> bool:
            with receiver.connect() as another:
                another.sendall(request(b"Connection: close", method=b"GET", target=b"/metrics"))
                return b'posts_total{status="503"}' in until_closed(another)

        wait_until(is_counted, "the POST to be counted")

    assert "Exception in ASGI application" not in caplog.text


def memory_bytes() -> int:
    """What this process, receiver and stranger, has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


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
