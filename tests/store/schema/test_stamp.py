"""What is kept in Redis has a version: an older one is brought up, whatever happens meanwhile, a newer one is left."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.incoming.events import Channel, Contact
from runtime.clock import now_ms
from runtime.embedded import EmbeddedValkey
from runtime.findings import Finding, Level
from runtime.settings import Account, Settings
from sandbox.ports import reserved_port
from store.accounts.parking import Parking
from store.connection import RedisError, Store, connect
from store.keys import ACCOUNTS, SCHEMA
from store.schedule import Schedule
from store.schema.migrations import MIGRATIONS, Migration
from store.schema.stamp import bring_up
from store.scripts import Scripts
from store.server.checks import check_store
from tests.redis_doors import Door
from tests.rooms import ROOT

pytestmark = pytest.mark.anyio

ACCOUNT = Account(channel="instagram", id="17841400000000042")
NAME = f"{ACCOUNT.channel} {ACCOUNT.id}"
OLD, NEW = f"ns:waiting:{NAME}", f"ns:parked_conversations:{NAME}"
CONTACT = Contact(Channel.INSTAGRAM, ACCOUNT.id, "9001000000000123")
CID = CONTACT.conversation_id
NEWEST = MIGRATIONS[-1].number


async def kept(scripts: Scripts, key: str) -> set[str]:
    return set(await scripts.command("SMEMBERS", key))


async def test_an_empty_store_is_stamped_and_nothing_else(scripts: Scripts, settings: Settings) -> None:
    assert await bring_up(scripts.client, [NAME]) == []

    assert await scripts.command("KEYS", "*") == [SCHEMA]
    assert await scripts.command("GET", SCHEMA) == str(NEWEST)


def test_the_steps_are_in_order() -> None:
    numbers = [migration.number for migration in MIGRATIONS]

    assert numbers == list(range(2, 2 + len(numbers)))


@pytest.mark.parametrize("accounts", [[NAME], []])
async def test_parked_conversations_come_along(scripts: Scripts, accounts: list[str]) -> None:
    """Also of an account that another process has: it has said so in Redis."""
    await scripts.command("ZADD", ACCOUNTS, 1, NAME)
    await scripts.command("SADD", OLD, "c1", "c2")
    await scripts.command("SADD", NEW, "c2", "c3")

    await bring_up(scripts.client, accounts)

    assert await kept(scripts, NEW) == {"c1", "c2", "c3"}
    assert await scripts.command("EXISTS", OLD) == 0
    assert await scripts.command("PTTL", NEW) > 0


async def test_a_conversation_that_an_old_worker_has_parked_is_woken(scripts: Scripts) -> None:
    """It runs on beside the new ones, and parks under the old name after they have brought the store up."""
    await bring_up(scripts.client, [NAME])
    await scripts.command("HSET", f"ns:c:{CID}", "state", "held", "hold_reason", "parked")
    await scripts.command("ZADD", "ns:due", now_ms() + 3_600_000, CID)
    await scripts.command("SADD", OLD, CID)
    woken_before = await Parking(scripts).wake([ACCOUNT])

    await bring_up(scripts.client, [NAME])

    assert woken_before == 0
    assert await Parking(scripts).wake([ACCOUNT]) == 1
    assert (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids == (CID,)


async def test_the_check_of_each_minute_takes_them_along(scripts: Scripts, settings: Settings) -> None:
    await check_store(settings)
    await scripts.command("SADD", OLD, CID)

    await check_store(settings, is_running=True)

    assert await kept(scripts, NEW) == {CID}


async def test_many_may_start_at_once(scripts: Scripts, valkey: EmbeddedValkey) -> None:
    members = {f"c{number}" for number in range(50)}
    await scripts.command("SADD", OLD, *members)
    clients = [connect(valkey.url, max_connections=1, timeout_seconds=5) for _ in range(12)]

    found = await asyncio.gather(*(bring_up(client, [NAME]) for client in clients))

    assert found == [[]] * len(clients)
    assert await kept(scripts, NEW) == members
    assert await scripts.command("GET", SCHEMA) == str(NEWEST)
    for client in clients:
        await client.aclose()


class FallsAfter(Door):
    """Hands `chunks` of what a client sends on to the server, and closes before the last one's answer."""

    def __init__(self, port: int, chunks: int) -> None:
        super().__init__()
        self._behind, self._left = port, chunks

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader_behind, writer_behind = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            while data := await reader.read(65536):
                self._left -= 1
                writer_behind.write(data)
                answer = await reader_behind.read(65536)
                if self._left <= 0:
                    return
                writer.write(answer)
        finally:
            writer_behind.transport.abort()


async def brought_up_at(url: str) -> bool:
    client = connect(url, max_connections=1, timeout_seconds=5)
    try:
        await bring_up(client, [NAME])
    except (RedisError, OSError):
        return False
    finally:
        await client.aclose()
    return True


async def test_a_process_that_dies_in_the_middle_leaves_it_whole(scripts: Scripts, valkey: EmbeddedValkey) -> None:
    fell = 0
    for chunks in range(1, 40):
        await scripts.client.flushall()
        await scripts.command("SADD", OLD, "c1", "c2")
        with FallsAfter(valkey.port, chunks) as door:
            done = await brought_up_at(valkey.url.replace(str(valkey.port), str(door.port)))
        between = await kept(scripts, OLD) | await kept(scripts, NEW)
        stamped = await scripts.command("GET", SCHEMA)
        moved = await kept(scripts, NEW)
        await bring_up(scripts.client, [NAME])

        assert between == {"c1", "c2"}
        assert stamped is None or moved == between
        assert await kept(scripts, NEW) == {"c1", "c2"}
        assert await scripts.command("GET", SCHEMA) == str(NEWEST)
        if done:
            break
        fell += 1
    assert fell >= 5
    assert done


async def nothing(_client: Store, _accounts: Iterable[str]) -> None:
    """A step of a version to come."""


async def test_the_stamp_never_goes_back(scripts: Scripts) -> None:
    """Two versions start at once: the one that is slower has found no stamp, and comes last."""

    async def overtaken(client: Store, _accounts: Iterable[str]) -> None:
        assert await bring_up(client, [], migrations=[Migration(5, "of a version to come", nothing)]) == []

    await bring_up(scripts.client, [], migrations=[Migration(2, "now", overtaken)])

    assert await scripts.command("GET", SCHEMA) == "5"


async def test_only_the_steps_that_are_missing_are_run(scripts: Scripts) -> None:
    ran: list[int] = []

    def step(number: int, *, again: bool = False) -> Migration:
        async def run(_client: Store, _accounts: Iterable[str]) -> None:
            ran.append(number)

        return Migration(number, "", run, again=again)

    for newest in (2, 2, 4):
        steps = [step(2, again=True), step(3), step(4)][: newest - 1]
        await bring_up(scripts.client, [], migrations=steps)

    assert ran == [2, 2, 2, 3, 4]


@pytest.mark.parametrize(
    ("stamp", "word"),
    [(str(NEWEST + 1), f"of schema {NEWEST + 1}, and this version of Nightshift knows {NEWEST}"), ("x", "no number")],
)
async def test_what_this_version_does_not_know_is_left_alone(
    scripts: Scripts, settings: Settings, stamp: str, word: str
) -> None:
    await scripts.command("SET", SCHEMA, stamp)
    await scripts.command("SADD", OLD, CID)

    [finding] = [finding for finding in await check_store(settings) if finding.level is Level.ERROR]

    assert finding.check == "redis.schema"
    assert word in finding.what
    assert finding.fix
    assert await kept(scripts, OLD) == {CID}
    assert await scripts.command("GET", SCHEMA) == stamp


async def test_who_runs_already_runs_on_beside_a_newer_version(scripts: Scripts, settings: Settings) -> None:
    await scripts.command("SET", SCHEMA, NEWEST + 1)

    found: list[Finding] = await check_store(settings, is_running=True)

    assert [finding for finding in found if finding.level is Level.ERROR] == []


@pytest.mark.slow
@pytest.mark.parametrize("process", ["webhooks", "dispatcher", "worker", "worker.beat", "worker.flower"])
async def test_no_process_starts_on_what_a_newer_version_keeps(
    process: str, scripts: Scripts, valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    await scripts.command("SET", SCHEMA, NEWEST + 1)
    (tmp_path / "nightshift.toml").write_text("")
    with reserved_port() as port, reserved_port() as flower_port:
        done = subprocess.run(  # noqa: ASYNC221 - nothing else runs here meanwhile
            [sys.executable, "-m", process],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "REDIS_URL": valkey.url,
                "FLOWER_BASIC_AUTH": "ops:0123456789abc",
                "PORT": str(port),
                "FLOWER_PORT": str(flower_port),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert done.returncode == 2, done.stderr
    assert f"REDIS_URL: what is kept there is of schema {NEWEST + 1}" in done.stderr
    assert "(redis.schema)" in done.stderr
