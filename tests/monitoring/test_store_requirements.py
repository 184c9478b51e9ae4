"""A Redis that stops being what it must be is told, once; and /health/ready asks of it what a POST would."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest
import redis

from monitoring.store_requirements import PERIOD_SECONDS, STEADY_SECONDS, StoreRequirements
from runtime.embedded import EmbeddedValkey
from runtime.findings import Finding, Level
from runtime.settings import Config, Environment, Settings
from store.connection import StoreUnavailable, connect
from store.incoming.inbox import open_inbox
from store.outboxes.alerts import AlertOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.scripts import Scripts
from store.server.checks import check_store
from tests.redis_doors import AnswersBy
from tests.store.server.test_checks import old_redis
from webhooks.app import create_app

pytestmark = pytest.mark.anyio

START_MS = 1_790_000_000_000
FORGETS = Finding("redis.eviction", Level.ERROR, "maxmemory-policy is allkeys-lru")
NO_DISK = Finding("redis.persistence", Level.WARNING, "the append-only file is off")
FULL = Finding("redis.connections", Level.WARNING, "29 of 30 connections are taken")


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=4, timeout_seconds=5)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@dataclass
class Watched:
    """Watches of one store, on a clock that is set."""

    scripts: Scripts
    now: float = 0.0
    findings: tuple[Finding, ...] = ()
    away: bool = False

    async def check(self) -> list[Finding]:
        if self.away:
            raise StoreUnavailable("away")
        return list(self.findings)

    def watch(self) -> StoreRequirements:
        incidents = SystemIncidents(self.scripts, AlertOutbox(self.scripts))
        return StoreRequirements(
            self.check, incidents, clock=lambda: self.now, clock_ms=lambda: START_MS + round(self.now * 1000)
        )

    async def raised(self) -> dict[str, str]:
        return {waiting.id: waiting.alert.detail for waiting in await AlertOutbox(self.scripts).waiting()}


@pytest.fixture
def watched(scripts: Scripts) -> Watched:
    return Watched(scripts)


async def test_what_stops_holding_is_told_once_and_its_end_as_well(watched: Watched) -> None:
    watches = [watched.watch(), watched.watch()]
    seen = []
    for watched.now, watched.findings in (
        (0.0, ()),
        (PERIOD_SECONDS, (FORGETS,)),
        (2 * PERIOD_SECONDS, (FORGETS,)),
        (3 * PERIOD_SECONDS + STEADY_SECONDS, ()),
    ):
        for watch in watches:
            await watch.look()
        seen.append(await watched.raised())

    assert seen[0] == {}
    assert seen[1] == seen[2] == {"system:store_eviction": FORGETS.what}
    assert "system:store_eviction:recovered" in seen[3]


async def test_a_fault_that_was_there_at_the_start_is_told(watched: Watched) -> None:
    watched.findings = (FORGETS,)
    await watched.watch().look()

    assert await watched.raised() == {"system:store_eviction": FORGETS.what}


async def test_a_warning_is_told_when_it_comes_up_and_not_when_it_was_there(watched: Watched) -> None:
    watched.findings = (NO_DISK,)
    watch = watched.watch()
    await watch.look()
    watched.now, watched.findings = PERIOD_SECONDS, (NO_DISK, FULL)
    await watch.look()

    assert await watched.raised() == {"system:store_connections": FULL.what}


async def test_a_watch_that_began_later_does_not_call_well_what_it_found_so(watched: Watched) -> None:
    first = watched.watch()
    await first.look()
    watched.now, watched.findings = PERIOD_SECONDS, (NO_DISK,)
    await first.look()
    watched.now += PERIOD_SECONDS + STEADY_SECONDS
    await watched.watch().look()

    assert await watched.raised() == {"system:store_persistence": NO_DISK.what}


async def test_it_looks_once_a_minute_and_an_outage_is_not_its_business(watched: Watched) -> None:
    watch = watched.watch()
    watched.away = True
    await watch.look()
    watched.away, watched.findings, watched.now = False, (FORGETS,), PERIOD_SECONDS - 1
    await watch.look()

    assert await watched.raised() == {}


async def test_the_real_check_sees_a_policy_change(valkey: EmbeddedValkey, watched: Watched) -> None:
    settings = Settings(env=Environment(redis_url=valkey.url), config=Config())
    with redis.Redis.from_url(valkey.url) as admin:
        admin.config_set("maxmemory", "100mb")
        admin.config_set("maxmemory-policy", "allkeys-lru")
        try:
            watched.findings = tuple(await check_store(settings))
        finally:
            admin.config_set("maxmemory", "0")
            admin.config_set("maxmemory-policy", "noeviction")
    await watched.watch().look()

    assert set(await watched.raised()) == {"system:store_eviction"}


async def ready(url: str) -> int:
    """The status of /health/ready on that store."""
    settings = Settings(env=Environment(redis_url=url), config=Config())
    inbox = open_inbox(settings, role="receiver")
    try:
        transport = httpx.ASGITransport(create_app(settings, inbox))
        async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
            return (await client.get("/health/ready")).status_code
    finally:
        await inbox.aclose()


async def test_ready_asks_what_a_post_asks(valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(valkey.url) as admin, AnswersBy(old_redis()) as old:
        login = f"anna:pw@127.0.0.1:{valkey.port}/0"
        admin.acl_setuser("anna", enabled=True, passwords=["+pw"], keys=["ns:*"], commands=["+@all", "-@scripting"])
        without_scripts = await ready(f"redis://{login}")
        admin.acl_setuser("anna", keys=["other:*"], commands=["+@all"], reset_keys=True)
        without_keys = await ready(f"redis://{login}")
        admin.config_set("maxmemory", "1")
        full = await ready(valkey.url)
        admin.config_set("maxmemory", "0")

        assert (without_scripts, without_keys, full) == (503, 503, 503)
        assert await ready(f"redis://127.0.0.1:{old.port}/0") == 503  # although it takes a plain SET
        assert await ready(valkey.url) == 200


async def test_asking_stores_nothing_that_lasts(valkey: EmbeddedValkey, scripts: Scripts) -> None:
    await ready(valkey.url)

    assert await scripts.command("KEYS", "*") == ["ns:probe"]
    assert 0 < await scripts.command("PTTL", "ns:probe") <= 60_000
