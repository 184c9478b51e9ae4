"""Lives at random: customers, people, workers and the clock, and every change of a state that they bring about.

What is drawn is what can happen: facts come from calls that were let go, however late, and decisions from workers
that hold a lease, or did.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from bot.alerts.alert import Alert
from bot.conversation import Conversation, Enclosure, PartKind, PartState, PlanMeta
from bot.incoming.events import (
    Channel,
    Comment,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.settings import Account, Settings
from store.connection import Store
from store.incoming.inbox import Inbox
from store.keys import conversation_key
from store.outboxes.comments import CommentOutbox
from store.schedule import Schedule
from store.schema.transitions import GONE, NONE
from store.server.clock_watch import ClockWatch
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import MaySend
from store.turns.lease import Incident, Lease, LeaseLost, OutcomeRefused
from store.turns.views import ConversationUnreadable
from tests.jumping_clock import MovedScripts, moved_texts

ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")
CONTACTS = [Contact(ACCOUNT.channel, ACCOUNT.id, f"900100000000{number:04d}") for number in range(3)]
TEXTS = ["Да, есть.", "Сколько нужно?"]

Change = tuple[str, str, str]
"""State before, by which script (or event), state after."""
_States = tuple[dict[str, tuple[str, str]], dict[tuple[str, str, int], str]]
"""State and lease of each conversation; state of each part of the plans there are, by conversation, plan and number."""


class ObservedScripts(MovedScripts):
    """Notes what each script has changed. `event` is what the script that stores events is about to store."""

    def __init__(self, client: Store) -> None:
        super().__init__(client)
        self.event = ""
        self.contacts: Sequence[Contact] = ()
        self._seen: _States = ({}, {})
        self.conversations: Counter[Change] = Counter()
        self.parts: Counter[Change] = Counter()

    async def begin_anew(self, *contacts: Contact) -> None:
        """With nothing stored; these are watched from now on."""
        await self.client.flushall()
        self.contacts = contacts
        self._seen = await self._look()

    async def raw(self, name: str, *args: str | bytes | float) -> Any:
        answer = await super().raw(name, *args)
        if "no-writes" in moved_texts()[name][1].partition("\n")[0]:
            return answer
        before, self._seen = self._seen, await self._look()
        by = name.rpartition("/")[2]
        self._note(before, self._seen, self.event if by == "receive" else by)
        return answer

    async def _look(self) -> _States:
        pipeline = self.client.pipeline(transaction=False)
        for contact in self.contacts:
            pipeline.hmget(conversation_key(contact.conversation_id), ["state", "token"])
            pipeline.hgetall(conversation_key(contact.conversation_id, "plan"))
        answers = await pipeline.execute()
        conversations: dict[str, tuple[str, str]] = {}
        parts: dict[tuple[str, str, int], str] = {}
        for number, contact in enumerate(self.contacts):
            (state, token), plan = answers[2 * number : 2 * number + 2]
            conversations[contact.conversation_id] = (state or NONE, token or "")
            for field, value in plan.items():
                if field.endswith(":state"):
                    parts[contact.conversation_id, plan.get("id", ""), int(field.partition(":")[0])] = value
        return conversations, parts

    def _note(self, before: _States, after: _States, by: str) -> None:
        for cid, (state, token) in after[0].items():
            if before[0][cid] != (state, token):
                self.conversations[before[0][cid][0], by, state] += 1
        for part in before[1].keys() | after[1].keys():
            change = before[1].get(part, NONE), by, after[1].get(part, GONE)
            if change[0] != change[2]:
                self.parts[change] += 1


class Lives:
    """A few conversations of one account. `leases` were taken, `calls` are those that Meta may still answer."""

    def __init__(self, scripts: ObservedScripts, settings: Settings, chance: Random) -> None:
        self.scripts, self.chance = scripts, chance
        self.inbox = Inbox(scripts, settings)
        self.conversations = Conversations(scripts, settings)
        self.schedule = Schedule(scripts, clock=scripts.steady)
        self.watch = ClockWatch(scripts, settings)
        self.comments = CommentOutbox(scripts)
        self.leases: dict[str, tuple[Lease, Conversation]] = {}
        self.calls: list[tuple[str, str, int]] = []
        self.written: list[tuple[Contact, str]] = []
        self.numbers = 0

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    async def receive(self, event: Event, name: str) -> None:
        self.scripts.event = name
        await self.inbox.receive([event])

    async def step(self) -> None:
        """Something happens: to the customers, among people, at Meta, to a worker, or to the clock."""
        happens = self.chance.choices(
            [self.customer, self.people, self.meta, self.time, self.work, self.turn], [5, 2, 4, 3, 4, 12]
        )[0]
        try:
            await happens()
        except (LeaseLost, OutcomeRefused, ConversationUnreadable):
            return  # what a worker finds out, and leaves it at that

    async def customer(self) -> None:
        who, now_ms = self.chance.choice(CONTACTS), await self.scripts.ask_time()
        if self.written and self.chance.random() < 0.35:
            who, mid = self.chance.choice(self.written[-8:])
            if self.chance.random() < 0.6:
                await self.receive(Deletion(who, mid, now_ms), "deletion")
            else:
                await self.receive(Edit(who, mid, now_ms, "иначе", self.number()), "edit")
            return
        mid = f"m{self.number()}"
        self.written.append((who, mid))
        silence = self.chance.choice([None] * 8 + [SilenceReason.STANDBY, SilenceReason.TEST_EVENT])
        message = CustomerMessage(who, MessageKind.MESSAGE, mid, now_ms, "Есть?", closed_as=silence)
        await self.receive(message, "message")

    async def people(self) -> None:
        who, now_ms, number = self.chance.choice(CONTACTS), await self.scripts.ask_time(), self.number()
        match self.chance.randrange(6):
            case 0 | 1:
                await self.receive(Echo(who, f"h{number}", now_ms, f"Это Мария, {number}"), "echo")
            case 2:
                late = now_ms - self.chance.choice([1_000, 300_000, 3_600_000])
                read_back = Echo(who, f"h{number}", late, f"Мария, {number}", found="reconcile")
                await self.receive(read_back, "late echo")
            case 3:
                await self.receive(ThreadControl(who, "take", now_ms, "another"), "thread control")
            case 4:
                owner = self.chance.choice(["555000111222333", "another"])
                await self.receive(ThreadControl(who, "pass", now_ms, owner), "thread control")
            case _:
                await self.receive(CustomerAction(who, "reaction", now_ms), "action")
                bare = UnreadMessage(who.channel, who.account_id, f"u{number}", now_ms)
                await self.receive(Noted("ghost_edit", who.account_id, unread=bare), "unread")

    async def meta(self) -> None:
        """Answers of calls, and echoes of what was sent: known by its words, or changed on the way."""
        now_ms, number = await self.scripts.ask_time(), self.number()
        if not self.calls:
            await self.policy(now_ms)
            return
        call = self.chance.choice(self.calls)
        cid, plan_id, part = call
        who = next(contact for contact in CONTACTS if contact.conversation_id == cid)
        match self.chance.randrange(8):
            case 0 | 1 | 2:
                self.calls.remove(call)
                await self.conversations.record(cid, plan_id, part, PartState.SENT, mid=f"s{number}")
            case 3:
                self.calls.remove(call)
                code = self.chance.choice(["MetaBusy", "plain"])
                await self.conversations.record(cid, plan_id, part, PartState.FAILED, code=code)
            case 4:
                self.calls.remove(call)
                await self.conversations.record(cid, plan_id, part, PartState.UNKNOWN, code="Timeout")
            case 5 | 6:
                found = self.chance.choice(["", "reconcile"])
                echo = Echo(who, f"s{number}", now_ms, TEXTS[part % len(TEXTS)], found=found)
                await self.receive(echo, "late echo" if found else "echo")
            case _:
                self.calls.remove(call)
                await self.receive(Echo(who, f"s{number}", now_ms, f"changed {number}"), "echo")
                await self.conversations.record(cid, plan_id, part, PartState.SENT, mid=f"s{number}")

    async def policy(self, now_ms: int) -> None:
        action = self.chance.choice(["block", "unblock"])
        await self.receive(PolicyEnforcement(ACCOUNT.channel, ACCOUNT.id, action, now_ms), "policy")

    async def time(self) -> None:
        if self.chance.random() < 0.15:
            await self.scripts.jump(self.chance.choice([-60.0, 60.0, -3600.0]))
        else:
            await self.scripts.pass_time(self.chance.choice([1.0, 5.0, 16.0, 16.0, 120.0, 700.0]))

    async def work(self) -> None:
        """A round of the dispatcher, and a worker for each of its pokes; some of these never come back."""
        due = await self.schedule.pop_due(limit=10, quota=50)
        self.watch.saw(due.told)
        await self.watch.mend(*due.conversation_ids)
        for cid in due.conversation_ids:
            claimed = await self.conversations.claim(cid)
            if isinstance(claimed, Claimed):
                self.leases[cid] = claimed.lease, claimed.conversation
        if self.chance.random() < 0.08:
            await self.private_reply()

    async def private_reply(self) -> None:
        who, number = self.chance.choice(CONTACTS), self.number()
        comment = Comment(who.channel, who.account_id, f"c{number}", who.customer_id, 1, "цена?")
        await self.comments.note(comment)
        for waiting in await self.comments.due(now_ms=await self.scripts.ask_time(), limit=1):
            if await self.comments.begin(waiting, "Ответ") == "sending":
                sent = {"customer_id": who.customer_id, "mid": f"p{number}", "reply": "Ответ", "now_ms": 1}
                await self.comments.sent(waiting, **sent)  # type: ignore[arg-type]

    async def turn(self) -> None:
        """One thing that a worker with a lease does, be it one that was lost meanwhile."""
        if not self.leases:
            return
        cid = self.chance.choice(list(self.leases))
        lease, conversation = self.leases[cid]
        plan = conversation.plan
        match self.chance.randrange(12):
            case 0 | 1 | 2 if not plan or self.chance.random() < 0.2:
                await self.plan(lease, conversation)
            case 0 | 1 | 2 | 3 | 4 | 5 if plan:
                await self.send(lease, conversation)
            case 6 | 7:
                await self.finish(lease, conversation)
            case 8:
                await self.hold(lease)
                del self.leases[cid]
            case 9:
                await lease.renew()
            case 10 if self.chance.random() < 0.3:
                await lease.abandon("it cannot be read", Incident(f"{cid}:x", Alert("x")))
                del self.leases[cid]
            case _:
                self.leases[cid] = (lease, await lease.reread())

    async def plan(self, lease: Lease, conversation: Conversation) -> None:
        if not conversation.messages:
            return
        enclosures = [Enclosure(PartKind.REACTION, "❤", conversation.messages[-1].mid)]
        answer = await lease.plan(
            conversation,
            TEXTS[: self.chance.choice([1, 2])],
            PlanMeta(),
            enclosures=enclosures if self.chance.random() < 0.4 else (),
            whatever_came=self.chance.random() < 0.4,
            whatever_changed=self.chance.random() < 0.2,
        )
        self.leases[lease.conversation_id] = (lease, answer.conversation)

    async def send(self, lease: Lease, conversation: Conversation) -> None:
        assert conversation.plan is not None
        plan, cid = conversation.plan, lease.conversation_id
        part = self.chance.choice(plan.parts)
        if part.state is PartState.UNKNOWN:  # it is looked for
            state, code = self.chance.choice([(PartState.UNKNOWN, "looks 1 0"), (PartState.FAILED, "not_found")])
            await self.conversations.record(cid, plan.id, part.index, state, code=code)
        elif await lease.begin_part(plan.id, part.index, margin_seconds=1) == MaySend():
            if self.chance.random() < 0.15:  # too few replicas know of it: no call is made
                await self.scripts.run("take_back_part", cid, lease.token, plan.id, part.index)
            else:
                self.calls.append((cid, plan.id, part.index))
        self.leases[cid] = (lease, await lease.reread())

    async def finish(self, lease: Lease, conversation: Conversation) -> None:
        keys = conversation.plan.keys if conversation.plan else [message.key for message in conversation.messages]
        outcome = self.chance.choice([Outcome.ANSWERED, Outcome.HANDED_OVER, Outcome.UNDELIVERABLE])
        await lease.finish(outcome, keys, takeover_seconds=self.chance.choice([0, 0, 600]))
        del self.leases[lease.conversation_id]

    async def hold(self, lease: Lease) -> None:
        if self.chance.random() < 0.2:
            incident = Incident("missing", Alert("x"))
            await lease.hold_for_account(incident, closes_after_seconds=0)
            return
        reason = self.chance.choice([*Deferral, "parked", "released"])
        waits_for_people = reason in (Deferral.HUMAN, Deferral.HUMANS_FIRST, Deferral.OFF_DUTY)
        await lease.hold(self.chance.choice([0, 3, 60]), reason, drop_plan=waits_for_people)
