"""`nightshift ledger` as an operator types it, against a real server."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from bot.outcome import Deferral, SilenceReason
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Environment, Settings
from sandbox.patience import PATIENCE_SECONDS
from store.connection import connect
from store.heartbeat import instance_name
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from tests.rooms import ROOT

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
CID = CONTACT.conversation_id


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as valkey:
        yield valkey


@pytest.fixture
def valkey(server: EmbeddedValkey) -> EmbeddedValkey:
    """With one message that waits for a human, and one that was closed at once."""
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    asyncio.run(_fill(server.url))
    return server


async def _fill(url: str) -> None:
    client = connect(url, max_connections=2, timeout_seconds=PATIENCE_SECONDS)
    scripts, settings = Scripts(client), Settings(env=Environment(redis_url=url), config=Config())
    await Inbox(scripts, settings).receive(
        [
            CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid.closed", 1, "?", closed_as=SilenceReason.TEST_EVENT),
            CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid.open", 1, "Hello"),
        ]
    )
    await scripts.command("ZADD", "ns:due", 1, CID)
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CID)
    assert isinstance(claimed, Claimed)
    await claimed.lease.hold(3600, Deferral.HUMANS_FIRST)
    await client.aclose()


def nightshift(*arguments: str, url: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "140",
        "NIGHTSHIFT_CONFIG": str(ROOT / "nightshift.toml"),
        "REDIS_URL": url,
    }
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def spoil(url: str, *command: str | int) -> None:
    with redis.Redis.from_url(url) as client:
        client.execute_command(*command)


def test_json_prints_the_sums_alone(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", "--json", url=valkey.url)

    printed = json.loads(done.stdout)
    assert done.returncode == 0
    assert {name: value for name, value in printed.items() if name != "oldest_open_seconds"} == {
        "received": 2,
        "answered": 0,
        "handed_over": 0,
        "silenced": 1,
        "undeliverable": 0,
        "expired": 0,
        "open": 1,
        "balanced": True,
    }


def test_people_see_days_accounts_total_and_what_is_open(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", url=valkey.url)

    assert done.returncode == 0
    assert re.search(r"\d{4}-\d\d-\d\d instagram 17841400000000042 +2 +0 +0 +1 +0 +0", done.stdout)
    assert re.search(r"all time kept +2 +0 +0 +1 +0 +0 +1", done.stdout)
    assert "1  held: humans may answer first" in done.stdout
    assert "The books balance." in done.stdout


def test_open_lists_each_message_with_its_reason_and_time(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", "--open", "--days", "0", url=valkey.url)

    assert re.search(
        rf"{CID} [0-9a-f]{{16}} +\d+ s  held: humans may answer first until \d\d\.\d\d \d\d:\d\d:\d\d", done.stdout
    )


def test_sums_that_do_not_add_up_are_exit_code_1_and_named(valkey: EmbeddedValkey) -> None:
    spoil(valkey.url, "HINCRBY", "ns:count", "received", 3)

    shown, as_json = nightshift("ledger", url=valkey.url), nightshift("ledger", "--json", url=valkey.url)

    assert (shown.returncode, as_json.returncode) == (1, 1)
    assert "do NOT balance: 3 received message(s) are neither open nor have an outcome" in shown.stdout
    assert json.loads(as_json.stdout)["balanced"] is False


def test_verify_agrees_or_names_what_does_not(valkey: EmbeddedValkey) -> None:
    before = nightshift("ledger", "--verify", url=valkey.url)
    spoil(valkey.url, "ZREM", "ns:due", CID)
    after = nightshift("ledger", "--verify", url=valkey.url)

    assert (before.returncode, after.returncode) == (0, 1)
    assert "Inboxes, open messages and schedule agree." in before.stdout
    assert f"{CID} (conversation) has open messages, and is not in the schedule" in after.stdout


def test_why_tells_a_message_step_by_step(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", "why", '"mid.open",', url=valkey.url)

    told = [line.split("  ", 2)[-1] for line in done.stdout.splitlines()[1:-1]]
    assert done.returncode == 0
    assert done.stdout.startswith(f"Conversation {CID} (times: Europe/Moscow)")
    assert told == [
        "the message was received and stored",
        "a worker took the conversation",
        "it waits: humans may answer first",
    ]
    assert done.stdout.splitlines()[-1].startswith("  open: held: humans may answer first until ")


def test_why_tells_a_conversation_by_its_hash(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", "why", CID, url=valkey.url)

    assert done.returncode == 0
    assert "SILENCED: no reply is due (a test from Meta's dashboard)" in done.stdout
    assert done.stdout.count("the message was received and stored") == 2


def test_why_of_something_unknown_is_1(valkey: EmbeddedValkey) -> None:
    done = nightshift("ledger", "why", "mid.nowhere", url=valkey.url)

    assert done.returncode == 1
    assert "knows neither" in done.stderr


def test_without_redis_it_says_so(tmp_path: Path) -> None:
    done = nightshift("ledger", "--json", url="redis://127.0.0.1:9/0")

    assert done.returncode == 1
    assert "Redis is unavailable" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_an_address_it_finds_the_server_of_a_running_up(tmp_path: Path) -> None:
    nobody = nightshift("ledger", "--json", url="", cwd=tmp_path)
    with EmbeddedValkey(tmp_path / "var" / "valkey"):
        found = nightshift("ledger", "--json", url="", cwd=tmp_path)

    assert (nobody.returncode, found.returncode) == (2, 0)
    assert "REDIS_URL is not set" in nobody.stderr
    assert json.loads(found.stdout)["received"] == 0


@pytest.mark.parametrize(
    "arguments", [["--json", "--open"], ["--json", "--verify"], ["extra"], ["why"], ["--days", "-1"]]
)
def test_wrong_usage_is_2(valkey: EmbeddedValkey, arguments: list[str]) -> None:
    assert nightshift("ledger", *arguments, url=valkey.url).returncode == 2


def test_health_asks_for_this_hosts_own_process(valkey: EmbeddedValkey) -> None:
    nobody = nightshift("health", "worker", url=valkey.url)
    with redis.Redis.from_url(valkey.url) as client:
        client.zadd("ns:alive", {f"worker {instance_name()}": time.time() * 1000, "dispatcher elsewhere:1": 1e15})
    worker, dispatcher = (nightshift("health", name, url=valkey.url) for name in ("worker", "dispatcher"))

    assert (nobody.returncode, worker.returncode, dispatcher.returncode) == (1, 0, 1)
