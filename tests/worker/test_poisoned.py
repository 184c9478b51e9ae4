"""A conversation whose turns fail in our own code ends with a human, and does not stop the others."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from bot.incoming.events import Contact, CustomerMessage, Deletion, Echo, MessageKind
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config, Debounce, Environment, Settings
from sandbox.meta.faults import Fault
from sandbox.meta.server import MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
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
ACCOUNT = Account(channel="instagram", id="17841400000000042", page_id="104400000000001", token="an-invented-token")
CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture(scope="module")
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
    client = connect(valkey.url, max_connections=20, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture
async def house(
    valkey: EmbeddedValkey, meta: tuple[MetaSandbox, SandboxServer], model: SandboxServer
) -> AsyncIterator[Services]:
    settings = Settings(
        env=Environment(redis_url=valkey.url, graph_api_url=meta[1].url, llm_api_url=model.url, llm_api_key="key"),
        config=Config(accounts=(ACCOUNT,), debounce=Debounce(quiet_seconds=0, max_wait_seconds=0)),
    )
    house = await build_services(settings, load_texts(settings))
    yield house
    await house.aclose()


def broken(house: Services) -> Services:
    """The same house without a mind: a bug of ours, whatever it is."""
    return replace(house, agents={})


async def turn(house: Services, scripts: Scripts) -> str:
    await scripts.command("ZADD", "ns:due", "XX", 1, CONTACT.conversation_id)
    await Schedule(scripts).pop_due(limit=10, quota=10)
    return str(await take_turn(house, CONTACT.conversation_id))


async def test_after_three_failed_turns_the_customer_is_told_and_a_human_is_called(
    house: Services, scripts: Scripts, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    await Inbox(scripts, house.settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "m", house.now_ms(), "Привет")]
    )
    sick = broken(house)

    words = [await turn(sick, scripts) for _ in range(4)]

    assert words == ["failed: KeyError"] * 3 + ["handed_over (turns_failed)"]
    assert "коллеге" in meta[0].sent[-1]["text"]
    assert (await Ledger(scripts).sums()).handed_over == 1
    [waiting] = await house.outbox.waiting()
    assert waiting.alert.rule == "turns_failed"


async def test_a_bug_is_forgotten_once_a_turn_succeeds(house: Services, scripts: Scripts) -> None:
    await Inbox(scripts, house.settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "m", house.now_ms(), "Привет")]
    )
    await turn(broken(house), scripts)

    assert (await turn(house, scripts)).startswith("answered")
    assert await scripts.command("HGET", f"ns:c:{CONTACT.conversation_id}", "failures") is None


async def test_an_unknown_send_that_nobody_can_clear_up_is_never_answered_anew(
    house: Services, scripts: Scripts, meta: tuple[MetaSandbox, SandboxServer]
) -> None:
    await Inbox(scripts, house.settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "m", house.now_ms(), "Привет")]
    )
    sandbox, before = meta[0], len(meta[0].sent)
    sandbox.lose_answer_next()
    sandbox.refuse_next(100, 33, 400, on="reads")
    await turn(house, scripts)
    sandbox.refuse_next(2, 1545133, 500)  # the handoff line is turned away for now
    words = [await turn(house, scripts) for _ in range(3)]

    assert [word for word in words if word != "not_handed_out"][-1].startswith("handed_over")
    arrived = [message["text"] for message in sandbox.sent[before:]]
    assert len(arrived) == 2
    assert "коллега" in arrived[1]


async def test_a_message_id_survives_a_store_that_is_away_for_a_moment(
    house: Services, scripts: Scripts, meta: tuple[MetaSandbox, SandboxServer], valkey: EmbeddedValkey
) -> None:
    await Inbox(scripts, house.settings).receive(
        [CustomerMessage(CONTACT, MessageKind.MESSAGE, "m", house.now_ms(), "Привет")]
    )
    sandbox, before = meta[0], len(meta[0].sent)
    faults = sandbox.faults_left()
    sandbox.fault_for(CONTACT.customer_id, Fault("slow", seconds=0.5))
    running = asyncio.create_task(turn(house, scripts))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sandbox.faults_left() > faults:  # until the call is at Meta: before that, nothing would be sent
            await asyncio.sleep(0.01)

    valkey.kill()
    try:
        await asyncio.to_thread(sandbox.wait_for_sent, before + 1)
        await asyncio.sleep(0.2)  # the first try to record it meets no server
    finally:
        valkey.restart()
    word = await running

    assert word.startswith("answered")
    assert len(sandbox.sent) == before + 1


@pytest.mark.parametrize("end", ["taken back", "answered by a human"])
async def test_faults_of_messages_that_ended_without_a_turn_do_not_count_against_the_next(
    house: Services, scripts: Scripts, end: str
) -> None:
    inbox, key = Inbox(scripts, house.settings), f"ns:c:{CONTACT.conversation_id}"
    await inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "m", house.now_ms(), "Привет")])
    sick = broken(house)
    for _ in range(3):
        await turn(sick, scripts)
    if end == "taken back":
        await inbox.receive([Deletion(CONTACT, "m", house.now_ms())])
    else:
        await scripts.command("HSET", key, "hold_reason", "humans_first")
        await inbox.receive([Echo(CONTACT, "e", house.now_ms() + 60_000, "Здравствуйте, это Мария")])
        await scripts.command("HDEL", key, "takeover_until")

    await inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "m2", house.now_ms(), "Сколько стоит?")])

    assert (await turn(house, scripts)).startswith("answered")
