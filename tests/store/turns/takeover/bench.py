"""One conversation, and what its customer, humans and Meta do to it."""

from collections.abc import Sequence

import orjson

from bot.conversation import Conversation, PartState, PlanMeta
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerMessage,
    Echo,
    Event,
    MessageKind,
    ThreadControl,
)
from runtime.clock import now_ms
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import Planned
from store.turns.lease import Lease

INSTAGRAM = "17841400000000042"


CONTACT = Contact(Channel.INSTAGRAM, INSTAGRAM, "9001000000000123")


def message(mid: str, text: str = "Вопрос", *, at_ms: int | None = None, **more: object) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms or now_ms(), text, **more)  # type: ignore[arg-type]


def human(mid: str, text: str = "Здравствуйте, это Мария", *, at_ms: int | None = None, **more: object) -> Echo:
    return Echo(CONTACT, mid, at_ms or now_ms(), text, **more)  # type: ignore[arg-type]


def control(kind: str, owner: str | None, *, at_ms: int | None = None) -> ThreadControl:
    return ThreadControl(CONTACT, kind, at_ms or now_ms(), owner)


class Bench:
    """One conversation and the two sides of Redis."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self.scripts = scripts
        self.settings = settings
        self.conversations = Conversations(scripts, settings)
        self.schedule = Schedule(scripts)
        self.inbox = Inbox(scripts, settings)

    async def receive(self, *events: Event) -> None:
        await self.inbox.receive(events)

    async def due(self) -> tuple[str, ...]:
        return tuple((await self.schedule.pop_due(limit=10, quota=10)).conversation_ids)

    async def claim(self) -> tuple[Lease, Conversation]:
        await self.due()
        claimed = await self.conversations.claim(CONTACT.conversation_id)
        assert isinstance(claimed, Claimed), claimed
        return claimed.lease, claimed.conversation

    async def planned(self, *texts: str, discloses: bool = False) -> tuple[Lease, str]:
        lease, conversation = await self.claim()
        assert isinstance(await lease.plan(conversation, texts, PlanMeta(discloses=discloses)), Planned)
        plan = (await lease.reread()).plan
        assert plan is not None
        return lease, plan.id

    async def record(self, plan_id: str, part: int, state: PartState, mid: str = "") -> None:
        await self.conversations.record(CONTACT.conversation_id, plan_id, part, state, mid=mid)

    async def parts(self) -> list[str]:
        plan = await self.scripts.command("HGETALL", f"ns:c:{CONTACT.conversation_id}:plan")
        fields = dict(plan)
        return [fields[f"{i}:state"] for i in range(int(fields.get("n", 0)))]

    async def field(self, name: str) -> str:
        return str(await self.scripts.command("HGET", f"ns:c:{CONTACT.conversation_id}", name) or "")

    async def history(self) -> list[tuple[str, str]]:
        rows = await self.scripts.command("LRANGE", f"ns:c:{CONTACT.conversation_id}:history", 0, -1)
        return [(line["role"], line["text"]) for line in map(orjson.loads, rows)]

    async def sums(self) -> dict[str, int]:
        books = await Ledger(self.scripts).sums()
        assert books.balanced
        names = ("received", "answered", "handed_over", "silenced", "undeliverable", "expired", "open")
        return {name: getattr(books, name) for name in names if getattr(books, name)}

    async def silences(self) -> list[str]:
        rows: Sequence[tuple[str, dict[str, str]]] = await self.scripts.client.xrange("ns:ledger")  # type: ignore[assignment]
        return [fields["w"] for _, fields in rows if fields["e"] == "silenced"]
