"""The server's clock may be a day ahead: it expires nobody by itself, and Meta's refusal still does."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from runtime.clock import now_ms
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config, Debounce, Environment, Settings
from sandbox.meta.server import MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer
from store.connection import connect
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from worker.services import Services, build_services
from worker.take_turn import take_turn
from worker.texts import load_texts

pytestmark = pytest.mark.anyio
ACCOUNT = Account(
    channel=Channel.INSTAGRAM, id="17841400000000042", page_id="104400000000001", token="an-invented-token"
)
CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
def meta() -> Iterator[tuple[MetaSandbox, SandboxServer]]:
    meta = MetaSandbox([ACCOUNT])
    with SandboxServer(meta.app) as server:
        yield meta, server


@pytest.fixture(scope="module")
def model() -> Iterator[SandboxServer]:
    with ModelStandIn().serve() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=20, timeout_seconds=5)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture
def settings(valkey: EmbeddedValkey, meta: tuple[MetaSandbox, SandboxServer], model: SandboxServer) -> Settings:
    return Settings(
        env=Environment(redis_url=valkey.url, graph_api_url=meta[1].url, llm_api_url=model.url, llm_api_key="key"),
        config=Config(accounts=(ACCOUNT,), debounce=Debounce(quiet_seconds=0, max_wait_seconds=0)),
    )


@pytest.fixture
async def house(settings: Settings, scripts: Scripts) -> AsyncIterator[Services]:
    house = await build_services(settings, load_texts(settings))
    yield house
    await house.aclose()


async def turn_a_day_later(house: Services, scripts: Scripts, settings: Settings) -> str:
    """As under a clock that has jumped ahead by a day since the customer wrote."""
    message = CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid-1", now_ms() - DAY_MS, "Сколько стоит?")
    await Inbox(scripts, settings).receive([message])
    await Schedule(scripts).pop_due(limit=10, quota=10)
    return str(await take_turn(house, CONTACT.conversation_id))


async def test_a_window_that_only_the_clock_has_closed_is_open(
    house: Services, scripts: Scripts, settings: Settings, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    await scripts.command("SET", "ns:clock:ahead", DAY_MS)

    assert await turn_a_day_later(house, scripts, settings) == "answered"
    assert len(meta[0].sent) == 1


async def test_without_a_doubt_the_clock_closes_it(
    house: Services, scripts: Scripts, settings: Settings, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    assert await turn_a_day_later(house, scripts, settings) == "expired"
    assert meta[0].sent == []


async def test_a_doubt_of_a_minute_opens_no_window_of_yesterday(
    house: Services, scripts: Scripts, settings: Settings
) -> None:
    await scripts.command("SET", "ns:clock:ahead", 60_000)

    assert await turn_a_day_later(house, scripts, settings) == "expired"


async def test_meta_has_the_last_word(
    house: Services, scripts: Scripts, settings: Settings, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    await scripts.command("SET", "ns:clock:ahead", DAY_MS)
    meta[0].refuse_next(10, 2534022, 400)

    assert await turn_a_day_later(house, scripts, settings) == "expired"
    assert (await Ledger(scripts).sums()).balanced


@pytest.mark.parametrize("waits_for", ["human", "throttled"])
async def test_who_waits_near_the_end_of_a_window_in_doubt_is_told_of_once_and_not_looked_at_without_end(
    house: Services, scripts: Scripts, settings: Settings, waits_for: str
) -> None:
    """By the clock the window has closed, beyond doubt it will within the hour."""
    hour_ms, cid = 3_600_000, CONTACT.conversation_id
    await scripts.command("SET", "ns:clock:ahead", 2 * hour_ms)
    wrote_at = now_ms() - DAY_MS - 55 * 60_000
    await Inbox(scripts, settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid-1", wrote_at, "Сколько стоит?")]
    )
    if waits_for == "human":
        await scripts.command("HSET", f"ns:c:{cid}", "takeover_until", now_ms() + 5 * hour_ms)
    else:
        await scripts.command("SET", f"ns:parked:instagram:{ACCOUNT.id}", waits_for, "PX", 5 * hour_ms)
    await Schedule(scripts).pop_due(limit=10, quota=10)

    word = str(await take_turn(house, cid))

    assert word == f"waits: {waits_for}"
    assert [waiting.alert.rule for waiting in await house.outbox.waiting()] == ["window_closing"]
    assert not (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids


async def test_a_damaged_time_of_the_last_action_makes_no_turn_go_round_and_round(
    house: Services, scripts: Scripts, settings: Settings
) -> None:
    cid = CONTACT.conversation_id
    await Inbox(scripts, settings).receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid-1", now_ms(), "?")])
    hour_later = now_ms() + 3_600_000
    await scripts.command("HSET", f"ns:c:{cid}", "acted_at", "damaged", "takeover_until", hour_later)
    await Schedule(scripts).pop_due(limit=10, quota=10)

    assert str(await take_turn(house, cid)) == "waits: human"

    assert not (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids
