"""`nightshift up` as its users start it: a process of its own, on a Procfile of harmless commands."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from tests.rooms import ROOT
from tests.waiting import polls, wait_until

QUIET = "exec sleep 300"


class Up:
    """A running `nightshift up`, its output, and every process that it has started."""

    def __init__(self, project: Path, **env: str) -> None:
        self.project = project
        self.log = project / "output.log"
        self.env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cli.main", "up"],
                cwd=project,
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> str:
        found = wait_until(lambda: re.search(text, self.output), lambda: f"{text!r}; so far:\n{self.output}")
        assert found
        return found[0]

    def end(self, seconds: float = PATIENCE_SECONDS) -> int:
        return self.process.wait(seconds)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def left_behind(self) -> list[str]:
        """Living processes in this run's folder: an environment is no mark, for Valkey writes its title over it."""
        found = []
        for proc in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if (proc / "cwd").readlink().is_relative_to(self.project):
                    found.append((proc / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def nothing_left_behind(self) -> bool:
        return wait_until(lambda: not self.left_behind(), "all that it started to end")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "night shift"
    folder.mkdir()
    for name in ("nightshift.toml", ".env.example"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@contextmanager
def two_ports() -> Iterator[dict[str, str]]:
    with reserved_port() as port, reserved_port() as flower_port:
        yield {"PORT": str(port), "FLOWER_PORT": str(flower_port)}


@contextmanager
def running(project: Path, processes: dict[str, str], **env: str) -> Iterator[Up]:
    (project / "Procfile").write_text("".join(f"{name}: {command}\n" for name, command in processes.items()))
    with two_ports() as ports:
        up = Up(project, **{**ports, **env})
        try:
            yield up
        finally:
            if up.process.poll() is None:
                up.process.kill()
                up.process.wait()
            assert up.nothing_left_behind()


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def test_the_first_run_writes_secrets_and_says_what_is_missing(project: Path) -> None:
    with running(project, {"web": f"echo flower is $FLOWER_BASIC_AUTH; {QUIET}"}) as up:
        up.wait_for("flower is nightshift:.{24}")

        assert up.stop() == 0
        assert (project / ".env").stat().st_mode & 0o777 == 0o600
        assert re.search(r"META_APP_SECRETS +App secret: Meta App Dashboard", up.output)
        assert re.search(r"INSTAGRAM_TOKEN +Access token", up.output)
        assert not re.search(r"META_VERIFY_TOKEN +Any word", up.output)


def test_processes_get_their_ports_and_a_server_that_keeps_its_data(project: Path) -> None:
    echo = f"echo $PORT $FLOWER_PORT $REDIS_URL.; {QUIET}"
    with running(project, {"web": echo}, REDIS_URL="") as up:
        line = up.wait_for(rf"{up.env['PORT']} {up.env['FLOWER_PORT']} redis://:\w+@127.0.0.1:\d+/0")
        url = line.split()[2]
        shown = up.output.replace(line, "")
        with redis.Redis.from_url(url) as client:
            client.set("word", "kept")
        password, valkey_port = url[len("redis://:") :].split("@")[0], url.rsplit(":", 1)[1].removesuffix("/0")
        hint = f'REDISCLI_AUTH="$(cat var/valkey/password)" valkey-cli -p {valkey_port}'
        assert (project / "var/valkey/password").read_text().strip() == password
        assert hint in shown
        assert password not in shown
        assert {(project / name).stat().st_mode & 0o777 for name in ("var", "var/valkey")} == {0o700}
        assert up.stop() == 0

    with running(project, {"web": echo}) as up:
        url = up.wait_for(rf"redis://:\w+@127.0.0.1:{valkey_port}/0")
        with redis.Redis.from_url(url) as client:
            assert client.get("word") == b"kept"
        assert up.stop() == 0


def test_a_folder_that_was_open_to_others_is_closed(project: Path) -> None:
    (project / "var").mkdir(mode=0o755)
    with running(project, {"web": f"echo here.; touch var/made; {QUIET}"}, REDIS_URL="redis://127.0.0.1:1/0") as up:
        up.wait_for("here")
        up.wait_for("Ctrl-C")
        assert up.stop() == 0

    assert (project / "var").stat().st_mode & 0o777 == 0o700
    assert (project / "var" / "made").stat().st_mode & 0o777 == 0o600


def test_a_redis_of_the_operators_is_used_as_it_is(project: Path) -> None:
    (project / ".env").write_text("REDIS_URL=redis://elsewhere:6379/3\n")

    with running(project, {"web": f"echo at $REDIS_URL.; {QUIET}"}) as up:
        up.wait_for(r"at redis://elsewhere:6379/3\.")
        assert up.stop() == 0

    assert not (project / "var").exists()


def test_a_process_that_fails_is_named_and_stops_the_rest(project: Path) -> None:
    processes = {"web": QUIET, "worker": "echo no such queue; exit 3", "beat": QUIET}
    with running(project, processes) as up:
        assert up.end() == 1
        assert re.search(r"worker ended by itself \(exit code 3\); its last lines:\n.*\| no such queue", up.output)


def test_a_process_that_ends_well_is_missed_all_the_same(project: Path) -> None:
    with running(project, {"web": QUIET, "worker": "true"}) as up:
        assert up.end() == 1
        assert "worker ended by itself (exit code 0); its last lines:" in up.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_running_turn_may_end_before_the_server_it_writes_to(project: Path, number: signal.Signals) -> None:
    """The worker takes its time, writes its result to Redis, and only then goes."""
    script = project / "worker.py"
    script.write_text(
        "import os, redis, signal, time\n"
        "def end(*_):\n"
        "    time.sleep(1)\n"
        "    print('written:', redis.Redis.from_url(os.environ['REDIS_URL']).set('turn', 'finished'))\n"
        "    raise SystemExit\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('working')\n"
        "while True: time.sleep(60)\n"
    )
    with running(project, {"web": QUIET, "worker": f"exec '{sys.executable}' worker.py"}) as up:
        up.wait_for(r"\| working")
        os.killpg(up.process.pid, number)

        assert up.end() == 0
        assert f"{number.name}: stopping" in up.output
        assert "written: True" in up.output


def test_a_second_ctrl_c_waits_no_longer(project: Path) -> None:
    with running(project, {"worker": "trap '' TERM; echo deaf; while :; do sleep 1; done"}) as up:
        up.wait_for(r"\| deaf")
        up.process.send_signal(signal.SIGINT)
        up.wait_for("SIGINT: stopping")
        for _ in polls(PATIENCE_SECONDS, every_seconds=0.1):
            if "killing worker" in up.output:
                break
            up.process.send_signal(signal.SIGINT)

        assert up.end() == 1
        assert "killing worker" in up.output


def test_nothing_outlives_a_killed_up(project: Path) -> None:
    with running(project, {"web": f"echo here; {QUIET}", "worker": QUIET}) as up:
        up.wait_for(r"\| here")
        assert len(up.left_behind()) >= 4  # up, two commands, Valkey
        up.process.kill()
        up.process.wait()

        assert up.nothing_left_behind()


def test_a_server_that_dies_stops_the_rest(project: Path) -> None:
    with running(project, {"web": f"echo at $REDIS_URL.; {QUIET}"}) as up:
        url = up.wait_for(r"at redis://.*\.")[3:-1]
        with redis.Redis.from_url(url) as client:
            os.kill(client.info("server")["process_id"], signal.SIGKILL)

        assert up.end() == 1
        assert "the embedded Valkey ended by itself" in up.output


@pytest.mark.parametrize("variable", ["PORT", "FLOWER_PORT"])
def test_a_taken_port_is_named_before_anything_starts(project: Path, variable: str) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        with running(project, {"web": "echo started"}, **{variable: str(stranger.getsockname()[1])}) as up:
            assert up.end() == 1
            assert re.search(rf"(?m)^{variable}: port \d+ cannot be used \(Address already in use\)", up.output)
            assert "started" not in up.output


@pytest.mark.parametrize("host", ["203.0.113.9", "nowhere.invalid", "::1::"])
def test_an_address_that_is_none_of_this_machine_is_named(project: Path, host: str) -> None:
    with running(project, {"web": "echo started"}, HOST=host) as up:
        assert up.end() == 1
        assert re.search(rf"(?m)^HOST: {re.escape(host)} ", up.output)
        assert "started" not in up.output


def test_a_port_taken_on_another_address_is_free(project: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.2", 0))
        stranger.listen()
        port = str(stranger.getsockname()[1])
        with running(project, {"web": f"echo listens on $HOST; {QUIET}"}, PORT=port, HOST="127.0.0.1") as up:
            up.wait_for("listens on 127.0.0.1")

            assert f"http://127.0.0.1:{port}/health/system (from this machine alone)" in up.output
            assert up.stop() == 0


def test_two_on_one_folder_do_not_share_a_file(project: Path) -> None:
    with running(project, {"web": f"echo here; {QUIET}"}) as first:
        first.wait_for(r"\| here")
        first.log = first.log.rename(project / "first.log")
        with two_ports() as ports:
            second = Up(project, **ports)
            assert second.end() == 1
        assert "another Valkey is running" in second.output
        assert first.stop() == 0


def test_without_a_procfile_it_says_where_to_go(tmp_path: Path) -> None:
    up = Up(tmp_path)

    assert up.end() == 2
    assert "no Procfile here" in up.output
