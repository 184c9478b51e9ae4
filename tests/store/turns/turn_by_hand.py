"""One turn of one conversation, step by step, up to any state that a part of its reply can have."""

from bot.alerts.alert import Alert
from bot.conversation import Conversation, Enclosure, PartKind, PartState, PlanMeta
from bot.incoming.events import Comment, CustomerMessage, Deletion, Echo, Edit, Event, MessageKind, ThreadControl
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.outboxes.comments import CommentOutbox
from store.schedule import Schedule
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Incident, Lease
from tests.store.lives import ACCOUNT, CONTACTS, TEXTS, ObservedScripts

CONTACT = CONTACTS[0]
CID = CONTACT.conversation_id


class NothingToDoItWith(Exception):
    """There is no lease, or no plan."""


class Turn:
    """A turn of one conversation, by hand. Its plan has two messages and a reaction; part 0 is what is looked at."""

    def __init__(self, scripts: ObservedScripts, settings: Settings) -> None:
        self.scripts = scripts
        self.inbox, self.schedule = Inbox(scripts, settings), Schedule(scripts)
        self.conversations = Conversations(scripts, settings)
        self._claimed: tuple[Lease, Conversation] | None = None

    @property
    def lease(self) -> Lease:
        if self._claimed is None:
            raise NothingToDoItWith
        return self._claimed[0]

    @property
    def conversation(self) -> Conversation:
        if self._claimed is None:
            raise NothingToDoItWith
        return self._claimed[1]

    async def event(self, event: Event, name: str) -> None:
        self.scripts.event = name
        await self.inbox.receive([event])

    async def writes(self, mid: str = "m1", closed_as: SilenceReason | None = None) -> None:
        now_ms = await self.scripts.ask_time()
        message = CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, now_ms, "Есть?", closed_as=closed_as)
        await self.event(message, "message")

    async def echo(self, text: str, mid: str, *, found: str = "") -> None:
        now_ms = await self.scripts.ask_time()
        await self.event(Echo(CONTACT, mid, now_ms, text, found=found), "late echo" if found else "echo")

    async def edits(self, mid: str = "m1") -> None:
        await self.event(Edit(CONTACT, mid, await self.scripts.ask_time(), "иначе", 1), "edit")

    async def deletes(self, mid: str = "m1") -> None:
        await self.event(Deletion(CONTACT, mid, await self.scripts.ask_time()), "deletion")

    async def control(self, kind: str = "take") -> None:
        taken = ThreadControl(CONTACT, kind, await self.scripts.ask_time(), "another")
        await self.event(taken, "thread control")

    async def claims(self) -> None:
        await self.scripts.pass_time(16)
        await self.schedule.pop_due(limit=10, quota=10)
        claimed = await self.conversations.claim(CID)
        if isinstance(claimed, Claimed):
            self._claimed = claimed.lease, claimed.conversation

    async def plans(self) -> None:
        reaction = [Enclosure(PartKind.REACTION, "❤", "m1")]
        lease = self.lease
        answer = await lease.plan(self.conversation, TEXTS, PlanMeta(), enclosures=reaction, whatever_came=True)
        self._claimed = lease, answer.conversation

    async def begins(self, part: int = 0) -> None:
        await self.lease.begin_part(self.plan_id, part, margin_seconds=1)

    async def records(self, state: PartState, *, part: int = 0, mid: str = "", code: str = "") -> None:
        await self.conversations.record(CID, self.plan_id, part, state, mid=mid, code=code)

    async def takes_back(self) -> None:
        await self.scripts.run("take_back_part", CID, self.lease.token, self.plan_id, 0)

    async def finishes(self, outcome: Outcome, *, takeover_seconds: float = 0) -> None:
        await self.lease.finish(outcome, self.keys, takeover_seconds=takeover_seconds)

    async def holds(self, reason: str = Deferral.BACKOFF, *, drop_plan: bool = False) -> None:
        await self.lease.hold(60, reason, drop_plan=drop_plan)

    async def abandons(self) -> None:
        await self.lease.abandon("unreadable", Incident("x", Alert("x")))

    async def lets_another_worker_have_it(self) -> None:
        await self.lease.hold_for_account(Incident("x", Alert("x")), closes_after_seconds=0)

    async def answers_a_comment(self) -> None:
        outbox = CommentOutbox(self.scripts)
        await outbox.note(Comment(CONTACT.channel, ACCOUNT.id, "c1", CONTACT.customer_id, 1, "цена?"))
        [waiting] = await outbox.due(now_ms=await self.scripts.ask_time(), limit=1)
        await outbox.begin(waiting, "Ответ")
        await outbox.sent(waiting, customer_id=CONTACT.customer_id, mid="p1", reply="Ответ", now_ms=1)

    @property
    def plan_id(self) -> str:
        if self.conversation.plan is None:
            raise NothingToDoItWith
        return self.conversation.plan.id

    @property
    def keys(self) -> tuple[str, ...]:
        return self.conversation.plan.keys if self.conversation.plan else ()

    async def leased(self) -> None:
        await self.writes()
        await self.claims()

    async def planned(self) -> None:
        await self.leased()
        await self.plans()

    async def sending(self) -> None:
        await self.planned()
        await self.begins()

    async def sent(self) -> None:
        await self.sending()
        await self.records(PartState.SENT, mid="s0")

    async def failed(self) -> None:
        await self.sending()
        await self.records(PartState.FAILED)

    async def not_found(self) -> None:
        await self.sending()
        await self.records(PartState.FAILED, code="not_found")

    async def unknown(self) -> None:
        await self.sending()
        await self.records(PartState.UNKNOWN)

    async def dropped(self) -> None:
        """A human writes while the second message is on its way."""
        await self.planned()
        await self.begins(1)
        await self.echo("Это Мария", "h1")

    async def dropped_for_nothing(self) -> None:
        """And what was on its way did not arrive."""
        await self.dropped()
        await self.records(PartState.FAILED, part=1)

    async def failed_beside_another(self) -> None:
        """Which has arrived."""
        await self.failed()
        await self.begins(1)
        await self.records(PartState.SENT, part=1, mid="s1")

    async def stale(self) -> None:
        """It did not arrive, and the words it was made from were changed meanwhile."""
        await self.planned()
        await self.begins()
        await self.edits()
        await self.records(PartState.FAILED)

    async def stale_and_dropped(self) -> None:
        await self.sending()
        await self.echo("Это Мария", "h1")
        await self.edits()
        await self.records(PartState.FAILED)
