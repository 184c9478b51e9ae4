"""Every key in Redis is in the one table of them, as a server holds it."""

from random import Random

import pytest

from bot.alerts.alert import Alert
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
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Settings
from sandbox.patience import PATIENCE_SECONDS
from store import keys
from store.accounts.ids import AccountIds, AccountIdStore
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing, rate_limit_of
from store.accounts.parking import Parking
from store.connection import connect
from store.failure_counts import count_in
from store.health import SystemHealth
from store.incoming.inbox import Inbox
from store.outboxes.comments import CommentOutbox
from store.outboxes.early_events import EarlyEvents
from store.outboxes.system_incidents import SystemIncidents
from store.schedule import Schedule
from store.schema.key_table import TABLE, PersonalData, Row, row_of
from store.schema.stamp import bring_up
from store.scripts import Scripts
from store.spending import Spending
from store.telemetry import erase_telemetry
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Incident
from tests.store.kept import kept_as_the_table_says
from tests.store.lives import CONTACTS, Lives, ObservedScripts
from worker.agent.generations import ask_later

pytestmark = pytest.mark.anyio

ACCOUNT = Account(channel="instagram", id="17841400000000042")
WORDS, PHONE, NAME = "Меня зовут Аделаида", "+79160000001", "Аделаида"
CUSTOMERS = [Contact(Channel.INSTAGRAM, ACCOUNT.id, f"900100000000{number:04d}") for number in range(8)]
BEHIND_CELERY = {"ns:celery:{name}"}


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
        self.seen |= await kept_as_the_table_says(self.scripts)

    async def dump(self, row: Row) -> str:
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
            if row_of(str(key)) is row:
                kind = await self.scripts.command("TYPE", key)
                if kind != "none":  # it has run out since the keys were listed
                    command, *more = read[kind]
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
        alert = Alert("x", conversation=conversation.id)
        await lease.finish(
            Outcome.ANSWERED,
            planned.plan.keys,
            fields={"turn": "20 1 2 3"},
            incident=Incident(f"{conversation.id}:x", alert),
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
    await bring_up(scripts.client, [])
    await scripts.command("SADD", keys.parked_conversations_key_before_2("instagram 1"), cid)
    await scripts.command("EXPIRE", keys.parked_conversations_key_before_2("instagram 1"), 86_400)
    await EarlyEvents(scripts).keep("{}")
    await AccountIdStore(scripts).store(ACCOUNT, AccountIds(ACCOUNT.id, "1"))
    marks = Marks(scripts)
    await marks.first_seen_ms(ACCOUNT, now_ms=1)
    await marks.begin(ACCOUNT, seconds=60)
    await marks.finished(ACCOUNT, began_ms=1, whole=True)
    await Parking(scripts).park(ACCOUNT, "token", 60)
    await Pacing(scripts).take(ACCOUNT, "read", patience_seconds=0)
    await life.health.beat("worker", "host:1")
    await life.health.writable()
    await count_in(scripts)("heartbeat", 1)
    incidents = SystemIncidents(scripts, None)  # type: ignore[arg-type]  # what it delivers to is not asked here
    await incidents.broke(Alert("no_worker"), now_ms=1)
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

    assert {row.key for row in TABLE} - life.seen == BEHIND_CELERY


async def test_what_lives_leave_behind_is_as_the_table_says(valkey: EmbeddedValkey, settings: Settings) -> None:
    client = connect(valkey.url, max_connections=5, timeout_seconds=PATIENCE_SECONDS)
    scripts, seen = ObservedScripts(client), set()
    try:
        for seed in range(3):
            await scripts.begin_anew(*CONTACTS)
            lives = Lives(scripts, settings, Random(seed))
            for step in range(120):
                await lives.step()
                if step % 10 == 0:
                    seen |= await kept_as_the_table_says(scripts)
    finally:
        await client.aclose()

    assert len(seen) > 15  # and not a house in which nothing happens


async def test_what_is_no_personal_data_holds_nothing_of_a_customer(scripts: Scripts, settings: Settings) -> None:
    life = Life(scripts, settings)
    await turns(life)
    await rarities(life)

    for row in TABLE:
        held = await life.dump(row)
        if row.personal_data is not PersonalData.CUSTOMER and row.key not in ("ns:comments", "ns:early"):
            for secret in (NAME, PHONE, *(customer.customer_id for customer in CUSTOMERS)):
                assert secret not in held, (row.key, secret)
        if row.personal_data is PersonalData.NONE and row.key != "ns:comments:seen":
            for customer in CUSTOMERS:
                assert customer.conversation_id not in held, row.key
