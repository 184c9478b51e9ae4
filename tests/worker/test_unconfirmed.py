"""A part that no replica knows of is not sent: a failover would have it sent once more."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bot.conversation import PartState, PlanMeta
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from runtime.clock import now_ms
from runtime.config import StoreSettings
from runtime.settings import Account, Config, Debounce, Environment, Settings
from sandbox.meta.server import MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer
from store.connection import connect
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed
from store.turns.decisions import MaySend
from tests.replicated import Replicated
from worker.services import Services, build_services
from worker.take_turn import take_turn
from worker.texts import load_texts

pytestmark = pytest.mark.anyio
ACCOUNT = Account(
    channel=Channel.INSTAGRAM, id="17841400000000042", page_id="104400000000001", token="an-invented-token"
)
CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")
PLAN = f"ns:c:{CONTACT.conversation_id}:plan"


@pytest.fixture
def servers() -> Iterator[Replicated]:
    with Replicated() as servers:
        yield servers


@pytest.fixture
def meta() -> Iterator[tuple[MetaSandbox, SandboxServer]]:
    meta = MetaSandbox([ACCOUNT])
    with SandboxServer(meta.app) as server:
        yield meta, server


@pytest.fixture
def model() -> Iterator[SandboxServer]:
    with ModelStandIn().serve() as server:
        yield server


@pytest.fixture
async def scripts(servers: Replicated) -> AsyncIterator[Scripts]:
    client = connect(servers.primary.url, max_connections=20, timeout_seconds=5)
    yield Scripts(client)
    await client.aclose()


@pytest.fixture
def settings(servers: Replicated, meta: tuple[MetaSandbox, SandboxServer], model: SandboxServer) -> Settings:
    return Settings(
        env=Environment(
            redis_url=servers.primary.url, graph_api_url=meta[1].url, llm_api_url=model.url, llm_api_key="key"
        ),
        config=Config(
            accounts=(ACCOUNT,),
            debounce=Debounce(quiet_seconds=0, max_wait_seconds=0),
            store=StoreSettings(replicas=1),
        ),
    )


@pytest.fixture
async def house(settings: Settings) -> AsyncIterator[Services]:
    house = await build_services(settings, load_texts(settings))
    yield house
    await house.aclose()


async def asked(scripts: Scripts, settings: Settings) -> None:
    message = CustomerMessage(CONTACT, MessageKind.MESSAGE, "mid-1", now_ms(), "Сколько стоит?")
    await Inbox(scripts, settings).receive([message])


async def turn(house: Services, scripts: Scripts) -> str:
    await scripts.command("ZADD", "ns:due", "XX", 1, CONTACT.conversation_id)
    await Schedule(scripts).pop_due(limit=10, quota=10)
    return str(await take_turn(house, CONTACT.conversation_id))


async def events(scripts: Scripts) -> dict[str, str]:
    return dict(await scripts.command("HGETALL", "ns:events"))


async def test_nothing_is_sent_until_a_replica_knows_of_it(
    servers: Replicated, house: Services, scripts: Scripts, settings: Settings, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    await asked(scripts, settings)
    servers.link.stall()

    stalled = [await turn(house, scripts), await turn(house, scripts)]

    assert stalled == ["waits: replicas", "waits: replicas"]
    assert meta[0].sent == []
    assert await scripts.command("HMGET", PLAN, "0:state", "0:tries") == ["planned", "0"]
    assert (await events(scripts))["send_unconfirmed"] == "2"

    servers.link.resume()
    assert await turn(house, scripts) == "answered"
    assert len(meta[0].sent) == 1
    assert (await Ledger(scripts).sums()).balanced


async def test_a_part_that_had_failed_before_is_as_it_was(
    servers: Replicated, house: Services, scripts: Scripts, settings: Settings
) -> None:
    await asked(scripts, settings)
    servers.link.stall()
    await turn(house, scripts)
    await scripts.command("HSET", PLAN, "0:state", "failed", "0:tries", 2, "0:code", "not_found")

    await turn(house, scripts)

    assert await scripts.command("HMGET", PLAN, "0:state", "0:tries", "0:code") == ["failed", "2", "not_found"]


async def test_a_failover_before_the_confirmation_sends_it_once(
    servers: Replicated, house: Services, scripts: Scripts, settings: Settings, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    """What the replica knows is that the message is open: it is answered from there, and only there."""
    await asked(scripts, settings)
    await scripts.command("WAIT", 1, 5000)
    servers.link.stall()
    assert await turn(house, scripts) == "waits: replicas"

    url = servers.fail_over()
    promoted = settings.model_copy(
        update={
            "env": settings.env.model_copy(update={"redis_url": url}),
            "config": settings.config.model_copy(update={"store": StoreSettings(replicas=0)}),
        }
    )
    client = connect(url, max_connections=5, timeout_seconds=5)
    other = await build_services(promoted, load_texts(promoted))

    assert await turn(other, Scripts(client)) == "answered"
    assert len(meta[0].sent) == 1
    await other.aclose()
    await client.aclose()


async def test_what_was_sent_goes_on_and_is_counted(
    servers: Replicated, house: Services, scripts: Scripts, settings: Settings
) -> None:
    """The link stalls while Meta is being called: what Meta said is a fact, with or without a replica."""
    await asked(scripts, settings)
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await house.conversations.claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed)
    lease, conversation = claimed.lease, claimed.conversation
    planned = (await lease.plan(conversation, ["Ответ"], PlanMeta())).conversation
    assert planned.plan is not None
    assert await lease.begin_part(planned.plan.id, 0, margin_seconds=1) == MaySend()
    servers.link.stall()

    stands = await house.conversations.record(
        CONTACT.conversation_id, planned.plan.id, 0, PartState.SENT, mid="mid-of-ours"
    )

    assert stands == "sent"
    assert (await events(scripts))["sent_unconfirmed"] == "1"
