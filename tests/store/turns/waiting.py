"""One conversation that waits."""

from bot.conversation import Conversation
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from runtime.settings import Account, Settings
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Lease

ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")


CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")


def message(mid: str, at_ms: int, **more: object) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms, "?", **more)  # type: ignore[arg-type]


async def claim(scripts: Scripts, settings: Settings) -> tuple[Lease, Conversation]:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease, claimed.conversation


async def server_us(scripts: Scripts) -> int:
    """The server's own time: what it does lies between one reading before it and one after it, however slow we are."""
    seconds, micros = await scripts.command("TIME")
    return int(seconds) * 1_000_000 + int(micros)
