"""A conversation's states, reached by the calls that receivers and workers make."""

import itertools

from bot.conversation import PlanMeta
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo, MessageKind
from runtime.clock import now_ms
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import Planned
from store.turns.lease import Lease

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")


_numbers = itertools.count()


def message(mid: str | None = None, **more: object) -> CustomerMessage:
    mid = mid or f"mid-{next(_numbers)}"
    values: dict[str, object] = {"text": "Привет", "at_ms": now_ms(), **more}
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, **values)  # type: ignore[arg-type]


def echo(mid: str, text: str = "", **more: object) -> Echo:
    return Echo(CONTACT, mid, now_ms(), text, **more)  # type: ignore[arg-type]


async def claim(scripts: Scripts, settings: Settings) -> tuple[Lease, object]:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease, claimed.conversation


async def planned(scripts: Scripts, settings: Settings, *texts: str) -> tuple[Lease, str]:
    """A lease on a conversation with one open message and a plan of `texts`; the plan's id."""
    await Inbox(scripts, settings).receive([message()])
    lease, conversation = await claim(scripts, settings)
    assert isinstance(await lease.plan(conversation, texts or ("Ответ",), PlanMeta()), Planned)  # type: ignore[arg-type]
    plan = (await lease.reread()).plan
    assert plan is not None
    return lease, plan.id


async def state(scripts: Scripts) -> dict[str, str]:
    flat = await scripts.command("HGETALL", f"ns:c:{CONTACT.conversation_id}")
    return dict(flat)


async def sums(scripts: Scripts) -> dict[str, int]:
    books = await Ledger(scripts).sums()
    assert books.balanced
    return {
        name: value
        for name, value in books.as_json().items()
        if value and name not in ("balanced", "oldest_open_seconds")
    }
