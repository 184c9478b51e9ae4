"""Every key in Redis is in the one table of them, as the sources write it and as a server holds it."""

import re

import pytest

from bot.conversation import PartState, PlanMeta
from bot.incoming.events import (
    Channel,
    Comment,
    Contact,
    CustomerMessage,
    Echo,
    Edit,
    Event,
    MessageKind,
    Noted,
    PolicyEnforcement,
    UnreadMessage,
)
from bot.outcome import Outcome, SilenceReason
from runtime.clock import now_ms
from runtime.settings import Account, Settings
from store.accounts.ids import AccountIds, AccountIdStore
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing, rate_limit_of
from store.accounts.parking import Parking
from store.conversations import Claimed, Conversations
from store.failure_counts import count_in
from store.health import SystemHealth
from store.inbox import Inbox
from store.keys import STORES, Lifetime, Store, Whose, store_of
from store.lease import Incident
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import EarlyEvents
from store.outboxes.system_incidents import SystemIncidents
from store.schedule import Schedule
from store.scripts import Scripts
from store.spending import Spending
from store.telemetry import erase_telemetry
from tests.rooms import ROOT, sources
from worker.agent.generations import ask_later

pytestmark = pytest.mark.anyio

ACCOUNT = Account(channel="instagram", id="17841400000000042")
WORDS, PHONE, NAME = "Меня зовут Аделаида", "+79160000001", "Аделаида"
CUSTOMERS = [Contact(Channel.INSTAGRAM, ACCOUNT.id, f"900100000000{number:04d}") for number in range(8)]
BEHIND_CELERY = {"ns:celery:{name...}"}

# Literals that are no key of their own: what parts of a reply carry as metadata, and thoughts and generations together,
# as they are erased.
NO_KEYS = {"ns:", "ns:c:*:*:*"}
LITERAL = re.compile(r"""f"(ns:(?:\{[^}]*\}|[^"{])*)"|["'](ns:[^"'{]*)["']""")


def skeleton(key: str) -> str:
    return re.sub(r"\{[^}]*\}", "*", key)


def literals() -> dict[str, str]:
    """Each key as the sources spell it, braces and what is appended by code as a star; and where."""
    found: dict[str, str] = {}
    for file in sources(kinds=(".py", ".lua")):
        if file == ROOT / "store" / "keys.py":
            continue
        source = file.read_text(encoding="utf-8")
        for literal in map("".join, LITERAL.findall(source)):
            open_ended = "*" if literal.endswith(":") and literal not in NO_KEYS else ""
            found[skeleton(literal) + open_ended] = f"{file.name}: {literal}"
        if file.suffix == ".lua":
            for part in re.findall(r"\bat\(\w+(?:\[\d\])?, '(\w+)", source):
                found[f"ns:c:*:{part}"] = f"{file.name}: {part}"
            for part in re.findall(r"\b(?:remember|forget_old)\(cid, '(\w+)'", source):
                found[f"ns:c:*:{part}"] = f"{file.name}: {part}"
    return {key: where for key, where in found.items() if key not in NO_KEYS}


def is_written_as(literal: str, key: str) -> bool:
    """A literal is the key, or one of its kind, or so much of it as stands before what differs."""
    known, store = skeleton(key), store_of(literal.replace("*", "x"))
    if store is not None and store.key == key:
        return True
    return literal == known or (literal.endswith("*") and known.startswith(literal)) or known == f"{literal}:*"


def test_the_sources_write_no_key_that_is_not_in_the_table() -> None:
    strange = {where for literal, where in literals().items() if not any(is_written_as(literal, s.key) for s in STORES)}

    assert strange == set()


def test_the_table_holds_no_key_that_nothing_writes() -> None:
    written = literals()
    idle = {store.key for store in STORES if not any(is_written_as(literal, store.key) for literal in written)}

    assert idle == set()


def test_every_key_says_what_it_is_and_what_bounds_it() -> None:
    assert len({store.key for store in STORES}) == len(STORES)
    for store in STORES:
        assert store.holds, store.key
        assert store.writers, store.key
        assert store.bound, store.key


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("ns:c:4eb1e8a7ea08e4a6", "ns:c:{conversation}"),
        ("ns:c:4eb1e8a7ea08e4a6:inbox", "ns:c:{conversation}:inbox"),
        ("ns:c:4eb1e8a7ea08e4a6:something", None),
        ("ns:tel:all", "ns:tel:all"),
        ("ns:tel:2026-11-30", "ns:tel:{day}"),
        ("ns:celery:_kombu.binding.turns", "ns:celery:{name...}"),
        ("ns:telling:system:no_redis:recovered", "ns:telling:{alert...}"),
        ("somebody:else", None),
    ],
)
def test_a_key_is_found_in_the_table(key: str, found: str | None) -> None:
    store = store_of(key)

    assert (store.key if store else None) == found


def message(number: int, mid: str, *, closed_as: SilenceReason | None = None) -> CustomerMessage:
    words = f"{WORDS}, {PHONE}"
    return CustomerMessage(CUSTOMERS[number], MessageKind.MESSAGE, mid, now_ms(), words, closed_as=closed_as)


class Life:
    """A life of the books, and all the keys that were there at any moment of it."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self.scripts = scripts
        self.inbox = Inbox(scripts, settings)
        self.conversations = Conversations(scripts, settings)
        self.schedule = Schedule(scripts)
        self.health = SystemHealth(scripts, settings)
        self.seen: set[str] = set()

    async def receive(self, *events: Event) -> None:
        await self.inbox.receive(events)
        await self.look()

    async def look(self) -> None:
        """Nothing is there that the table does not know, or otherwise than it says."""
        for key in await self.scripts.command("KEYS", "*"):
            store = store_of(str(key))
            assert store is not None, key
            kind, ttl = await self.scripts.command("TYPE", key), int(await self.scripts.command("PTTL", key))
            self.seen.add(store.key)
            if kind == "none":  # it has run out since the keys were listed
                assert store.lifetime is Lifetime.EXPIRES, key
                continue
            assert kind == (store.kind or kind), key
            assert await self._lives_as(store, str(key), ttl), (key, ttl)

    async def _lives_as(self, store: Store, key: str, ttl: int) -> bool:
        if store.lifetime is not Lifetime.AT_REST:
            return (ttl > 0) is (store.lifetime is Lifetime.EXPIRES)
        state = await self.scripts.command("HGET", ":".join(key.split(":")[:3]), "state")
        return (ttl > 0) is (state in ("rest", None))

    async def dump(self, store: Store) -> str:
        """Everything in the keys of a store, as one text."""
        read = {
            "string": ("GET",),
            "hash": ("HGETALL",),
            "list": ("LRANGE", 0, -1),
            "set": ("SMEMBERS",),
            "zset": ("ZRANGE", 0, -1),
            "stream": ("XRANGE", "-", "+"),
        }
        found = ""
        for key in await self.scripts.command("KEYS", "*"):
            if store_of(str(key)) is store:
                command, *more = read[await self.scripts.command("TYPE", key)]
                found += f"{key} {await self.scripts.command(command, key, *more)}"
        return found


async def turns(life: Life) -> None:
    """One is answered and told of, one waits for its account."""
    await life.receive(message(0, "m0"), message(1, "m1"), Edit(CUSTOMERS[2], "e2", now_ms(), "?", 1))
    await life.schedule.pop_due(limit=10, quota=10)
    for number in (0, 1):
        claimed = await life.conversations.claim(CUSTOMERS[number].conversation_id)
        assert isinstance(claimed, Claimed)
        lease, conversation = claimed.lease, claimed.conversation
        await life.look()
        if number:
            await lease.hold(60, "parked")
            continue
        planned = (await lease.plan(conversation, ["Здравствуйте!"], PlanMeta())).conversation
        assert planned.plan is not None
        await lease.begin_part(planned.plan.id, 0, margin_seconds=1, limit=rate_limit_of(ACCOUNT, "send"))
        await life.look()
        await life.conversations.record(conversation.id, planned.plan.id, 0, PartState.UNKNOWN)
        await life.look()
        await life.conversations.record(conversation.id, planned.plan.id, 0, PartState.SENT, mid="ours")
        body = {"rule": "x", "conversation": conversation.id, "count": 1}
        await lease.finish(
            Outcome.ANSWERED,
            planned.plan.keys,
            fields={"turn": "20 1 2 3"},
            incident=Incident(f"{conversation.id}:x", body),
        )
    await life.look()


async def rarities(life: Life) -> None:
    scripts, cid = life.scripts, CUSTOMERS[0].conversation_id
    record = await scripts.run(
        "tell", cid, '{"a":1}', "[]", 100, "2026-11-30", 60_000, "[]", 60_000, "0", "k1", "attempt|a|b|c", 1
    )
    await life.look()
    await scripts.run("attach_generation", cid, record, "gen-1", "{}", 60_000)
    await ask_later(scripts, cid, record, ["gen-2"])
    await Spending(scripts).add(0.01, conversation_id=cid)
    await life.look()
    await erase_telemetry(scripts, cid)
    await ask_later(scripts, cid, record, ["gen-2"])
    comment = Comment(Channel.INSTAGRAM, ACCOUNT.id, "c1", CUSTOMERS[3].customer_id, now_ms(), WORDS)
    outbox = CommentOutbox(scripts)
    await outbox.note(comment)
    [waiting] = await outbox.due(now_ms=now_ms() + 1000, limit=1)
    await outbox.begin(waiting, "Ответ")
    await life.look()
    await EarlyEvents(scripts).keep("{}")
    await AccountIdStore(scripts).store(ACCOUNT, AccountIds(ACCOUNT.id, "1"))
    looks = Marks(scripts)
    await looks.first_seen_ms(ACCOUNT, now_ms=1)
    await looks.begin(ACCOUNT, seconds=60)
    await looks.finished(ACCOUNT, began_ms=1, whole=True)
    await Parking(scripts).park(ACCOUNT, "token", 60)
    await Pacing(scripts).take(ACCOUNT, "read", patience_seconds=0)
    await life.health.beat("worker", "host:1")
    await life.health.writable()
    await count_in(scripts)("heartbeat", 1)
    incidents = SystemIncidents(scripts, None)  # type: ignore[arg-type]  # what it delivers to is not asked here
    await incidents.broke("no_worker", {}, now_ms=1)
    await incidents.may_tell("system:no_worker", for_seconds=60)
    jump = '{"rule": "clock_jumped_ahead", "first_at": 1, "count": 1}'
    await scripts.run("clock_jumped", "clock_jumped_ahead", 86_400_000, jump)
    await life.look()


async def test_a_server_holds_no_key_that_is_not_in_the_table(scripts: Scripts, settings: Settings) -> None:
    life = Life(scripts, settings)
    await turns(life)
    await life.receive(
        Echo(CUSTOMERS[4], "h1", now_ms(), "Здравствуйте, это Мария"),
        message(4, "m4"),
        message(5, "s5", closed_as=SilenceReason.STANDBY),
        message(6, "t6", closed_as=SilenceReason.TEST_EVENT),
        Noted("unknown_account", "17841499999999999"),
        Noted("ghost_edit", ACCOUNT.id, unread=UnreadMessage(Channel.INSTAGRAM, ACCOUNT.id, "u1", now_ms())),
        PolicyEnforcement(Channel.INSTAGRAM, ACCOUNT.id, "block", now_ms(), "spam"),
    )
    await rarities(life)

    assert {store.key for store in STORES} - life.seen == BEHIND_CELERY


async def test_what_is_called_nobodys_holds_nothing_of_a_customer(scripts: Scripts, settings: Settings) -> None:
    life = Life(scripts, settings)
    await turns(life)
    await rarities(life)

    for store in STORES:
        held = await life.dump(store)
        if store.whose is not Whose.CUSTOMER and store.key not in ("ns:comments", "ns:early"):
            for secret in (NAME, PHONE, *(customer.customer_id for customer in CUSTOMERS)):
                assert secret not in held, (store.key, secret)
        if store.whose is Whose.NOBODY and store.key != "ns:comments:seen":
            for customer in CUSTOMERS:
                assert customer.conversation_id not in held, store.key
