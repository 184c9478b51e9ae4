"""What is asked of Redis: by what servers say of themselves, and by real ones that are not as they should be."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.exceptions import ResponseError

from runtime.child import start_child
from runtime.embedded import EmbeddedValkey
from runtime.findings import Level
from runtime.settings import Config, Environment, Settings
from sandbox.ports import reserved_port
from store.connection import StoreUnavailable
from store.server.checks import check_store, judge, store_commands
from tests.redis_doors import AnswersBy, Authority, DoorTo
from tests.rooms import ROOT, sources
from worker.process.commands import STARTED_ANEW

pytestmark = pytest.mark.anyio

FIT: dict[str, Any] = {
    "redis_version": "7.2.4",
    "role": "master",
    "maxmemory": 0,
    "maxmemory_policy": "noeviction",
    "aof_enabled": 1,
    "maxclients": 10_000,
    "connected_clients": 20,
}


def settings_of(url: str, broker: str = "") -> Settings:
    return Settings(env=Environment(redis_url=url, celery_broker_url=broker), config=Config())


async def found(url: str, broker: str = "") -> dict[str, tuple[Level, str]]:
    return {finding.check: (finding.level, str(finding)) for finding in await check_store(settings_of(url, broker))}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
def admin(server: EmbeddedValkey) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        before = client.config_get("maxmemory*", "appendonly", "maxclients")
        yield client
        client.replicaof("NO", "ONE")
        for name in ("maxmemory", "maxmemory-policy", "appendonly", "maxclients"):
            client.config_set(name, before[name])


def user(admin: "redis.Redis", server: EmbeddedValkey, *rules: str) -> str:
    """The address for a user with these rights."""
    command: Any = admin.execute_command
    command("ACL", "SETUSER", "anna", "reset", "on", ">pw", *rules)
    return f"redis://anna:pw@127.0.0.1:{server.port}/0"


def old_redis(**more: Any) -> dict[str, Any]:
    """What Redis 6.2 says to scripts that begin with a shebang, and of itself."""
    answers: dict[str, Any] = {
        "INFO": lambda _: "".join(f"{name}:{value}\r\n" for name, value in {**FIT, "redis_version": "6.2.14"}.items()),
        "EVALSHA": lambda _: Exception("NOSCRIPT No matching script. Please use EVAL."),
        "EVAL": lambda _: Exception(
            "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#' "
        ),
    }
    return answers | more


@pytest.mark.parametrize(
    ("told", "check", "level"),
    [
        ({"redis_version": "6.2.14"}, "version", Level.ERROR),
        ({"cluster_enabled": 1}, "cluster", Level.ERROR),
        ({"redis_mode": "cluster"}, "cluster", Level.ERROR),
        ({"role": "slave"}, "role", Level.ERROR),
        ({"maxmemory": 1000, "maxmemory_policy": "allkeys-lru"}, "eviction", Level.ERROR),
        ({"maxmemory": 1000, "maxmemory_policy": "volatile-ttl"}, "eviction", Level.ERROR),
        ({"maxmemory_policy": "allkeys-lru"}, "eviction", Level.WARNING),
        ({"maxmemory_policy": None}, "eviction", Level.WARNING),
        ({"aof_enabled": 0}, "persistence", Level.WARNING),
        ({"aof_last_write_status": "err"}, "persistence", Level.WARNING),
        ({"maxclients": 20, "connected_clients": 3}, "maxclients", Level.WARNING),
        ({"maxclients": 100, "connected_clients": 98}, "connections", Level.WARNING),
    ],
)
def test_what_a_server_says_of_itself_is_judged(told: dict[str, Any], check: str, level: Level) -> None:
    [finding] = judge(FIT | told)

    assert (finding.check, finding.level) == (f"redis.{check}", level)
    assert finding.what


@pytest.mark.parametrize(
    "told",
    [{}, {"redis_version": "8.0.1"}, {"redis_version": "6.2.0", "valkey_version": "9.1.2"}, {"maxmemory": 10**9}],
)
def test_what_is_fit_is_passed_in_silence(told: dict[str, Any]) -> None:
    assert judge(FIT | told) == []


async def test_a_good_server_has_nothing_said_of_it(server: EmbeddedValkey) -> None:
    assert await found(server.url) == {}


@pytest.mark.parametrize(
    ("change", "check", "level"),
    [
        ({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, "redis.eviction", Level.ERROR),
        ({"appendonly": "no"}, "redis.persistence", Level.WARNING),
        ({"maxclients": "12"}, "redis.maxclients", Level.WARNING),
    ],
)
async def test_a_real_server_is_looked_at(
    server: EmbeddedValkey, admin: "redis.Redis", change: dict[str, str], check: str, level: Level
) -> None:
    for name, value in change.items():
        admin.config_set(name, value)

    assert {name: seen for name, (seen, _) in (await found(server.url)).items()} == {check: level}


async def test_a_replica_is_no_store(server: EmbeddedValkey, admin: "redis.Redis") -> None:
    admin.replicaof("127.0.0.1", "1")

    assert (await found(server.url))["redis.role"][0] is Level.ERROR


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        (("~ns:*", "&ns:*", "+@all", "-@scripting"), "scripts are refused"),
        (("~other:*", "&*", "+@all"), "scripts are refused"),
        (("~ns:*", "&ns:*", "+@all", "-zadd", "-xadd"), "XADD, ZADD"),
        (("~ns:*", "resetchannels", "+@all"), "PUBLISH, SUBSCRIBE"),
    ],
)
async def test_rights_that_are_missing_are_named(
    server: EmbeddedValkey, admin: "redis.Redis", rules: tuple[str, ...], word: str
) -> None:
    level, text = (await found(user(admin, server, *rules)))["redis.rights"]

    assert level is Level.ERROR
    assert word in text
    assert "~ns:*" in text


async def test_rights_to_what_is_ours_are_enough(server: EmbeddedValkey, admin: "redis.Redis") -> None:
    assert await found(user(admin, server, "~ns:*", "&ns:*", "+@all")) == {}


async def test_a_server_that_tells_nothing_of_itself_is_a_warning(server: EmbeddedValkey, admin: "redis.Redis") -> None:
    told = await found(user(admin, server, "~ns:*", "&ns:*", "+@all", "-info", "-config"))

    assert {name: level for name, (level, _) in told.items()} == {"redis.info": Level.WARNING}


async def test_a_login_that_is_refused_is_no_outage(server: EmbeddedValkey) -> None:
    for login in ("", ":wrong-word@", "anna:wrong-word@"):
        told = await found(f"redis://{login}127.0.0.1:{server.port}/0")

        assert {name: level for name, (level, _) in told.items()} == {"redis.login": Level.ERROR}
        assert "wrong-word" not in str(told)


async def test_a_server_that_nobody_known_vouches_for_is_no_outage(server: EmbeddedValkey, tmp_path: Path) -> None:
    with DoorTo(server.port, tls=Authority(tmp_path).context) as door:
        told = await found(server.url.replace("redis://", "rediss://").replace(str(server.port), str(door.port)))

    assert {name: level for name, (level, _) in told.items()} == {"redis.tls": Level.ERROR}


async def test_a_server_that_is_away_is_waited_for() -> None:
    with pytest.raises(StoreUnavailable):
        await found("redis://127.0.0.1:9/0")


async def test_a_full_server_is_waited_for(server: EmbeddedValkey, admin: "redis.Redis") -> None:
    admin.config_set("maxmemory", "1")

    with pytest.raises(StoreUnavailable):
        await found(server.url)


async def test_an_old_server_is_named_by_its_version_or_by_what_it_says_to_a_script() -> None:
    with (
        AnswersBy(old_redis()) as told_of,
        AnswersBy(
            old_redis(INFO=lambda _: ResponseError("NOPERM this user has no permissions to run the 'info' command"))
        ) as silent,
    ):
        by_version = await found(f"redis://127.0.0.1:{told_of.port}/0")
        by_script = await found(f"redis://127.0.0.1:{silent.port}/0")

    assert by_version["redis.version"] == (
        Level.ERROR,
        "Redis 6.2.14 is too old; use Redis 7 or newer, or any Valkey",
    )
    assert "compiling script" in by_script["redis.rights"][1]


async def test_a_broker_of_its_own_is_looked_at_as_well(server: EmbeddedValkey, admin: "redis.Redis") -> None:
    broker = user(admin, server, "~ns:*", "resetchannels", "+@all")
    told = await found(server.url, broker)
    amqp = await found(server.url, "amqp://127.0.0.1:1//")

    assert {name: level for name, (level, _) in told.items()} == {"broker.rights": Level.ERROR}
    assert amqp == {}


def test_no_command_is_sent_whose_right_is_not_checked() -> None:
    sent = {
        word for path in sources() for word in re.findall(r'command\(\s*"([A-Z]+)"', path.read_text(encoding="utf-8"))
    }

    assert sent - {command.split()[0] for command in store_commands(is_broker=True)} == set()


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "webhooks"],
        ["-m", "dispatcher"],
        ["-m", "worker"],
        ["-m", "worker.beat"],
        ["-m", "worker.flower"],
        ["-m", "cli.main", "up"],
    ],
)
def test_no_process_starts_on_a_redis_it_cannot_serve_with(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "nightshift.toml").write_text("")
    (tmp_path / "Procfile").write_text("web: exec sleep 300\n")
    with AnswersBy(old_redis()) as old, reserved_port() as port, reserved_port() as flower_port:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "REDIS_URL": f"redis://:secret@127.0.0.1:{old.port}/0",
                "FLOWER_BASIC_AUTH": "ops:word",
                "PORT": str(port),
                "FLOWER_PORT": str(flower_port),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert done.returncode == 2, done.stderr
    assert done.stderr == (
        "Nightshift cannot start:\n"
        "  - REDIS_URL: Redis 6.2.14 is too old; use Redis 7 or newer, or any Valkey (redis.version)\n"
    )


@pytest.mark.timeout(120)
def test_a_worker_that_starts_anew_waits_for_a_primary_that_is_a_replica_meanwhile(
    server: EmbeddedValkey, admin: "redis.Redis", tmp_path: Path
) -> None:
    (tmp_path / "nightshift.toml").write_text("")
    log = tmp_path / "log"
    environment = {
        "PATH": os.environ["PATH"],
        "NIGHTSHIFT_CONFIG": str(tmp_path / "nightshift.toml"),
        "REDIS_URL": server.url,
        "LLM_API_URL": "http://127.0.0.1:9/v1",
        STARTED_ANEW: "1",
    }
    admin.replicaof("127.0.0.1", "1")
    with log.open("wb") as output:
        worker = start_child([sys.executable, "-m", "worker"], cwd=ROOT, env=environment, output=output)
    try:
        for word in ("worker_starts_anew", "worker_ready"):
            while worker.poll() is None and word not in log.read_text():
                time.sleep(0.05)
            admin.replicaof("NO", "ONE")
        assert worker.poll() is None, log.read_text()
    finally:
        worker.kill()
        worker.wait()
