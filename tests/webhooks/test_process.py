"""The receiver as a process of its own, over real sockets, with a Redis that is not there."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from tests.rooms import ROOT
from tests.waiting import wait_until
from tests.webhooks.support import SECRET, VERIFY_TOKEN, instagram, message, sign


def environment(**changed: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "META_APP_SECRETS": SECRET,
        "META_VERIFY_TOKEN": VERIFY_TOKEN,
        "NIGHTSHIFT_CONFIG": str(ROOT / "nightshift.toml"),
        **changed,
    }


def start(*, most_files: int | None = None, **changed: str) -> subprocess.Popen[str]:
    """`most_files` as a shell would set it: with `ulimit`, and half as many to begin with."""
    command = f"exec {shlex.quote(sys.executable)} -m webhooks"
    if most_files is not None:
        command = f"ulimit -Sn {most_files // 2}; ulimit -Hn {most_files}; {command}"
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=ROOT,
        env=environment(**changed),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_heard(client: httpx.Client, process: subprocess.Popen[str]) -> bool:
    try:
        return client.get("/health/live").is_success
    except httpx.TransportError:
        assert process.poll() is None
        return False


@pytest.fixture
def receiver() -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    with reserved_port() as port, reserved_port() as nobody:
        process = start(PORT=str(port), REDIS_URL=f"redis://127.0.0.1:{nobody}/0")
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS, trust_env=False) as client:
                wait_until(lambda: is_heard(client, process), "the receiver to answer")
                yield process, client
        finally:
            process.kill()
            process.communicate()


def test_without_redis_it_verifies_refuses_and_stops_in_order(
    receiver: tuple[subprocess.Popen[str], httpx.Client],
) -> None:
    process, client = receiver
    body = httpx.Request("POST", "http://x", json=instagram(message(text="hi"))).content
    query = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "42"}

    verified = client.get("/webhooks/meta", params=query)
    stored = client.post("/webhooks/meta", content=body, headers=sign(body))
    unsigned = client.post("/webhooks/meta", content=body)
    oversized = client.post("/webhooks/meta", content=b"x" * (9 * 1024 * 1024), headers=sign(b""))
    health = [client.get(f"/health/{kind}").status_code for kind in ("live", "ready", "system")]
    process.send_signal(signal.SIGTERM)

    assert (verified.status_code, verified.text) == (200, "42")
    assert (stored.status_code, unsigned.status_code, oversized.status_code) == (503, 403, 413)
    assert health == [200, 503, 503]
    assert process.wait(timeout=PATIENCE_SECONDS) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of the machine")
def test_it_listens_on_this_machine_alone_unless_it_is_told(
    receiver: tuple[subprocess.Popen[str], httpx.Client],
) -> None:
    _, client = receiver

    with socket.socket() as neighbour:
        neighbour.bind(("127.0.0.2", client.base_url.port or 0))  # taken, had it been told 0.0.0.0


def test_broken_requests_by_the_hundred_are_one_line_in_the_log(
    receiver: tuple[subprocess.Popen[str], httpx.Client],
) -> None:
    process, client = receiver
    for _ in range(300):
        with socket.create_connection(
            (client.base_url.host, client.base_url.port or 0), timeout=PATIENCE_SECONDS
        ) as stranger:
            stranger.sendall(b"\x16\x03\x01\r\n\r\n")
            assert stranger.recv(1000).startswith(b"HTTP/1.1 400 ")
        client.get("/webhooks/meta")
    process.send_signal(signal.SIGTERM)
    said, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert (said + errors).count("Invalid HTTP request") == 1
    assert (said + errors).count("webhook_verification_refused") == 1


def test_more_silent_connections_than_files_keep_nobody_out() -> None:
    body = httpx.Request("POST", "http://x", json=instagram(message(text="hi"))).content
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        process = start(PORT=str(port), most_files=400)
        try:
            url = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
                wait_until(lambda: is_heard(client, process), "the receiver to listen")
                for _ in range(500):
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
                    stack.enter_context(stranger)
                live = client.get("/health/live")
                answer = client.post("/webhooks/meta", content=body, headers=sign(body))
        finally:
            process.send_signal(signal.SIGTERM)
            said, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert live.status_code == 200
    assert answer.status_code == 503  # for want of Redis, not of files
    assert (said + errors).count("connections_dropped") == 1
    assert "Too many open files" not in said + errors


def test_a_wrong_environment_is_exit_code_2_and_says_why() -> None:
    process = start(NIGHTSHIFT_CONFIG="/nowhere/nightshift.toml", REDIS_URL="")
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 2
    assert "NIGHTSHIFT_CONFIG" in errors
    assert "REDIS_URL" in errors
    assert "Traceback" not in errors


def test_a_taken_port_is_exit_code_1() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start(PORT=str(taken.getsockname()[1]))
        process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 1
