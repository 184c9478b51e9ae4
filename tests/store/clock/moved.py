"""The parts of the product that live by the server's clock, with a clock that can be moved."""

from bot.conversation import Conversation
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo, MessageKind
from runtime.settings import Account, Settings
from store.health import SystemHealth, overdue_after_seconds
from store.incoming.inbox import Inbox
from store.schedule import Due, Schedule
from store.server.clock_watch import ClockWatch
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import NotClaimed
from store.turns.lease import Lease
from tests.jumping_clock import MovedScripts

HOUR = 3600.0


DAY = 24 * HOUR


ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")


CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")


CID = CONTACT.conversation_id


class House:
    """Both sides of Redis, and a dispatcher's watch of the clock."""

    def __init__(self, scripts: MovedScripts, settings: Settings) -> None:
        self.scripts = scripts
        self.inbox = Inbox(scripts, settings)
        self.conversations = Conversations(scripts, settings)
        self.health = SystemHealth(scripts, settings)
        self.overdue_seconds = overdue_after_seconds(settings)
        self.settings = settings
        self.schedule = Schedule(scripts, clock=scripts.steady)
        self.watch = ClockWatch(scripts, settings)

    async def writes(self, mid: str = "a", contact: Contact = CONTACT) -> None:
        now_ms = await self.scripts.ask_time()
        await self.inbox.receive([CustomerMessage(contact, MessageKind.MESSAGE, mid, now_ms, "Привет")])

    async def human_writes(self, mid: str = "h") -> None:
        await self.inbox.receive([Echo(CONTACT, mid, await self.scripts.ask_time(), "Это Мария")])

    async def dispatch(self) -> Due:
        """One round, as dispatcher/rounds.py has it."""
        due = await self.schedule.pop_due(limit=100, quota=500)
        self.watch.saw(due.told)
        await self.watch.mend(*due.conversation_ids)
        return due

    async def claim(self) -> Claimed | NotClaimed:
        await self.dispatch()
        return await self.conversations.claim(CID)

    async def claimed(self) -> tuple[Lease, Conversation]:
        claimed = await self.claim()
        assert isinstance(claimed, Claimed), claimed
        return claimed.lease, claimed.conversation

    async def claimable_after(self, seconds: float) -> bool:
        await self.scripts.pass_time(seconds)
        return isinstance(await self.claim(), Claimed)

    async def events(self) -> dict[str, str]:
        return dict(await self.scripts.command("HGETALL", "ns:events"))
