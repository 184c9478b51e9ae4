"""A 200 means that a replica has it: what was acknowledged outlives a failover."""

import asyncio
from urllib.parse import urlsplit

import pytest

from bot.incoming.events import (
    Channel,
    Comment,
    Contact,
    CustomerAction,
    CustomerMessage,
    Echo,
    Event,
    MessageKind,
    Noted,
)
from runtime.clock import now_ms
from runtime.config import StoreSettings
from runtime.settings import Config, Environment, Settings
from store.connection import NotConfirmed, Store, StoreUnavailable, connect
from store.health import SystemHealth
from store.incoming.inbox import Inbox, open_inbox
from store.ledger import Ledger
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import EarlyEvents
from store.scripts import Scripts
from store.server.confirmation import CONFIRM_SECONDS
from store.server.replicas import check_replicas
from tests.replicated import Replicated, client_of
from webhooks.endpoints import Limits

pytestmark = pytest.mark.anyio


ACCOUNT = "17841400000000042"


def message(number: int) -> CustomerMessage:
    contact = Contact(Channel.INSTAGRAM, ACCOUNT, f"90010000000{number:05d}")
    return CustomerMessage(contact, MessageKind.MESSAGE, f"mid-{number}", now_ms(), "Привет 🌙")


COMMENT = Comment(Channel.INSTAGRAM, ACCOUNT, "17900000000000001", "9001000000000123", now_ms(), "цена?")


def inbox_at(url: str, *, replicas: int) -> Inbox:
    settings = Settings(env=Environment(redis_url=url), config=Config(store=StoreSettings(replicas=replicas)))
    return open_inbox(settings, role="receiver")


async def acknowledged(inbox: Inbox, numbers: range) -> list[int]:
    answers = await asyncio.gather(*(inbox.receive([message(n)]) for n in numbers), return_exceptions=True)
    assert all(answer is None or isinstance(answer, StoreUnavailable) for answer in answers), answers
    return [n for n, answer in zip(numbers, answers, strict=True) if answer is None]


async def stored(url: str) -> int:
    client = connect(url, max_connections=2, timeout_seconds=5)
    try:
        return (await Ledger(Scripts(client)).sums()).received
    finally:
        await client.aclose()


@pytest.mark.parametrize("replicas", [0, 1])
async def test_what_was_acknowledged_while_the_link_was_stalled(servers: Replicated, replicas: int) -> None:
    inbox = inbox_at(servers.primary.url, replicas=replicas)
    yes = await acknowledged(inbox, range(20))
    servers.link.stall()

    during = await acknowledged(inbox, range(20, 60))
    after = await stored(servers.fail_over())
    await inbox.aclose()

    assert yes == list(range(20))
    if replicas:
        assert during == []
        assert after == 20  # nothing acknowledged is missing
    else:
        assert len(during) == 40
        assert after < 60  # the test has teeth: without confirmation they are gone


async def test_a_duplicate_of_what_was_never_confirmed_waits_as_well(servers: Replicated) -> None:
    inbox = inbox_at(servers.primary.url, replicas=1)
    servers.link.stall()
    with pytest.raises(NotConfirmed):
        await inbox.receive([message(1)])
    other_door = inbox_at(servers.primary.url, replicas=1)  # its connection has written nothing

    for door in (inbox, other_door):
        with pytest.raises(NotConfirmed):
            await door.receive([message(1)])
    servers.link.resume()
    await other_door.receive([message(1)])

    assert await stored(servers.fail_over()) == 1
    await inbox.aclose()
    await other_door.aclose()


@pytest.mark.parametrize(
    "event",
    [
        message(1),
        CustomerMessage(message(2).contact, MessageKind.POSTBACK, "mid-2", now_ms(), "Да"),
        Echo(message(3).contact, "mid-3", now_ms(), "Здравствуйте"),
        CustomerAction(message(4).contact, "read", now_ms()),
        Noted("unparsable"),
        Noted("unknown_account", "999"),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_every_repetition_writes_something_that_can_be_waited_for(
    servers: Replicated, confirmed: Scripts, event: Event
) -> None:
    """WAIT counts what its own connection has written: one that wrote nothing would be told that all is well."""
    inbox = Inbox(confirmed, Settings(env=Environment(redis_url=servers.primary.url), config=Config()))
    await inbox.receive([event])
    before = _offset(servers)

    await inbox.receive([event])

    assert _offset(servers) > before


def _offset(servers: Replicated) -> int:
    with client_of(servers.primary) as primary:
        return int(primary.info("replication")["master_repl_offset"])


async def test_what_else_a_200_stands_for_is_confirmed_too(servers: Replicated, confirmed: Scripts) -> None:
    health = SystemHealth(confirmed, Settings(env=Environment(), config=Config()))
    await CommentOutbox(confirmed).note(COMMENT)
    await health.writable()  # a script is taught at its first call, which would cost two rounds below
    servers.link.stall()

    with pytest.raises(NotConfirmed):  # a repetition
        await CommentOutbox(confirmed).note(COMMENT)
    with pytest.raises(NotConfirmed):
        await EarlyEvents(confirmed).keep("{}")
    with pytest.raises(StoreUnavailable):  # not confirmed, or not within its second
        await health.writable()


async def test_a_private_reply_that_no_replica_knows_of_is_not_sent_and_costs_no_try(
    servers: Replicated, confirmed: Scripts
) -> None:
    outbox = CommentOutbox(confirmed)
    await outbox.note(COMMENT)
    [waiting] = await outbox.due(now_ms=now_ms() + 1000, limit=1)
    servers.link.stall()

    assert await outbox.begin(waiting, "В личку") == "unconfirmed"
    servers.link.resume()
    [again] = await outbox.due(now_ms=now_ms() + 60_000, limit=1)
    await confirmed.command("ZADD", "ns:comments:due", 1, again.id)

    assert again.tries == 0
    assert await outbox.begin(again, "В личку") == "sending"


async def test_a_primary_that_dies_meanwhile_has_confirmed_nothing(servers: Replicated, confirmed: Scripts) -> None:
    servers.link.stall()
    waiting = [asyncio.create_task(confirmed.command_confirmed("SET", f"key:{n}", n)) for n in range(5)]
    await confirmed.command("PING")  # they are on their way

    servers.primary.kill()
    answers = await asyncio.gather(*waiting, return_exceptions=True)

    assert all(isinstance(answer, StoreUnavailable) for answer in answers)


async def test_without_replicas_nothing_is_asked(servers: Replicated, store: Store) -> None:
    servers.link.stall()
    unconfirmed = Scripts(store)

    assert await unconfirmed.command_confirmed("SET", "key", "a")
    assert await unconfirmed.run_confirmed("raise_alert", "", "id", "{}") == 1
    assert await unconfirmed.command("CONFIG", "RESETSTAT")
    assert "cmdstat_wait" not in await unconfirmed.command("INFO", "commandstats")


async def test_the_start_says_what_is_missing(servers: Replicated, store: Store, confirmed: Scripts) -> None:
    assert await check_replicas(Scripts(store)) == []
    assert await check_replicas(confirmed) == []
    servers.link.stall()

    [finding] = await check_replicas(confirmed)

    assert finding.check == "store.replicas"
    assert "[store] replicas = 1" in finding.what
    assert "replica" in finding.fix


async def test_a_user_that_may_not_wait_is_named_as_the_reason(servers: Replicated, store: Store) -> None:
    await Scripts(store).command("ACL", "SETUSER", "narrow", "on", ">invented", "~*", "&*", "+@all", "-wait")
    url = urlsplit(servers.primary.url)
    url = url._replace(netloc=f"narrow:invented@{url.hostname}:{url.port}")
    client = connect(url.geturl(), max_connections=2, timeout_seconds=5)
    narrow = Scripts(client, replicas=1)

    with pytest.raises(NotConfirmed, match="NOPERM"):
        await narrow.command_confirmed("SET", "key", "a")
    [finding] = await check_replicas(narrow)
    await client.aclose()

    assert "may not run WAIT" in finding.what
    assert "+wait" in finding.fix


def test_two_rounds_fit_into_what_a_receiver_waits() -> None:
    assert Limits().store_seconds > 2 * CONFIRM_SECONDS
