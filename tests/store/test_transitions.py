"""Every change of a conversation's state, and of a part's, is in the table, and everything in the table happens."""

from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

import pytest

from bot.conversation import Conversation, Enclosure, PartKind, PartState, PlanMeta
from bot.incoming.events import Comment, CustomerMessage, Deletion, Echo, Edit, Event, MessageKind, ThreadControl
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Debounce, Environment, Settings, Shift
from store.connection import connect
from store.conversations import Conversations, Incident, Lease, LeaseLost, OutcomeRefused
from store.inbox import Inbox
from store.outboxes.comments import CommentOutbox
from store.schedule import Schedule
from store.schema.transitions import CONVERSATION, GONE, NONE, PART, PART_STATES, STATES, changes_of
from tests.rooms import sources
from tests.store.lives import ACCOUNT, CONTACTS, TEXTS, Lives, ObservedScripts

pytestmark = pytest.mark.anyio

CONTACT = CONTACTS[0]
CID = CONTACT.conversation_id
LIVES, STEPS = 8, 200


@pytest.fixture
def settings(valkey: EmbeddedValkey) -> Settings:
    return Settings(
        env=Environment(redis_url=valkey.url, meta_app_id="555000111222333"),
        config=Config(
            accounts=(ACCOUNT,),
            debounce=Debounce(quiet_seconds=4, max_wait_seconds=15),
            shift=Shift(takeover_minutes=10),
        ),
    )


@pytest.fixture
async def observed(valkey: EmbeddedValkey) -> AsyncIterator[ObservedScripts]:
    client = connect(valkey.url, max_connections=5, timeout_seconds=5)
    await client.flushall()
    yield ObservedScripts(client)
    await client.aclose()


class Turn:
    """A turn of one conversation, by hand. Its plan has two messages and a reaction; part 0 is what is looked at."""

    lease: Lease
    conversation: Conversation

    def __init__(self, scripts: ObservedScripts, settings: Settings) -> None:
        self.scripts = scripts
        self.inbox, self.schedule = Inbox(scripts, settings), Schedule(scripts)
        self.conversations = Conversations(scripts, settings)

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
        if not isinstance(claimed, str):
            self.lease, self.conversation = claimed

    async def plans(self) -> None:
        reaction = [Enclosure(PartKind.REACTION, "❤", "m1")]
        _, self.conversation = await self.lease.plan(
            self.conversation, TEXTS, PlanMeta(), enclosures=reaction, whatever_changed=False, whatever_came=True
        )

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
        await self.lease.abandon("unreadable", Incident("x", {"rule": "x", "count": 1}))

    async def lets_another_worker_have_it(self) -> None:
        await self.lease.hold_for_account(Incident("x", {"rule": "x", "count": 1}), closes_after_seconds=0)

    async def answers_a_comment(self) -> None:
        outbox = CommentOutbox(self.scripts)
        await outbox.note(Comment(CONTACT.channel, ACCOUNT.id, "c1", CONTACT.customer_id, 1, "цена?"))
        [waiting] = await outbox.due(now_ms=await self.scripts.ask_time(), limit=1)
        await outbox.begin(waiting, "Ответ")
        await outbox.sent(waiting, customer_id=CONTACT.customer_id, mid="p1", reply="Ответ", now_ms=1)

    @property
    def plan_id(self) -> str:
        assert self.conversation.plan is not None
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


Step = Callable[[Turn], Awaitable[None]]

BEFORE: dict[str, Step] = {
    "nothing": lambda turn: turn.scripts.pass_time(0),
    "leased": Turn.leased,
    "planned": Turn.planned,
    "sending": Turn.sending,
    "sent": Turn.sent,
    "failed": Turn.failed,
    "not found": Turn.not_found,
    "unknown": Turn.unknown,
    "dropped": Turn.dropped,
    "failed beside another": Turn.failed_beside_another,
    "dropped for nothing": Turn.dropped_for_nothing,
    "stale": Turn.stale,
    "stale and dropped": Turn.stale_and_dropped,
}


def at_rest(then: Step) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.writes("t0", SilenceReason.TEST_EVENT)
        await then(turn)

    return steps


def held(then: Step, reason: str = Deferral.HUMAN) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.holds(reason, drop_plan=True)
        await then(turn)

    return steps


async def finishes_with_news(turn: Turn) -> None:
    await turn.writes("m2")
    await turn.finishes(Outcome.ANSWERED)


async def finishes_for_people(turn: Turn) -> None:
    await turn.writes("m2")
    await turn.finishes(Outcome.ANSWERED, takeover_seconds=600)


async def proves_that_the_echo_was_ours(turn: Turn) -> None:
    await turn.records(PartState.SENT, part=1, mid="h1")


async def reads_back_an_older_humans_words(turn: Turn) -> None:
    """The turn has begun since the waiting was over, and they are older than its end."""
    await turn.holds(Deferral.HUMAN, drop_plan=True)
    await turn.scripts.pass_time(60)
    await turn.claims()
    await turn.echo("Это Мария", "h2", found="reconcile")


async def nothing_arrived_of_what_was_taken_back(turn: Turn) -> None:
    await turn.deletes()
    await turn.records(PartState.FAILED)
    await turn.holds()
    await turn.scripts.pass_time(60)
    await turn.claims()


async def nothing_arrived_and_its_worker_is_gone(turn: Turn) -> None:
    await turn.deletes()
    await turn.records(PartState.FAILED)
    await turn.claims()


async def begins_the_reaction_to_what_was_taken_back(turn: Turn) -> None:
    await turn.deletes()
    await turn.begins(2)


async def begins_again_the_reaction_to_what_was_taken_back(turn: Turn) -> None:
    await turn.begins(2)
    await turn.records(PartState.FAILED, part=2)
    await turn.deletes()
    await turn.begins(2)


async def begins_again_and_takes_it_back(turn: Turn) -> None:
    await turn.begins()
    await turn.takes_back()


async def writes_to_people(turn: Turn) -> None:
    await turn.echo("Это Мария", "h3")
    await turn.scripts.pass_time(30)  # sooner, and it was the greeting of an ad
    await turn.writes("m3")


def gathering(then: Step) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.writes()
        await then(turn)

    return steps


TO_A_PART: list[Step] = [
    Turn.writes,
    lambda turn: turn.writes("t1", SilenceReason.STANDBY),
    Turn.edits,
    Turn.deletes,
    Turn.control,
    lambda turn: turn.echo("Это Мария", "h3"),
    lambda turn: turn.echo("Это Мария", "h3", found="reconcile"),
    lambda turn: turn.echo(TEXTS[0], "s9"),
    lambda turn: turn.echo(TEXTS[0], "s9", found="reconcile"),
    Turn.answers_a_comment,
    Turn.claims,
    Turn.plans,
    Turn.begins,
    lambda turn: turn.begins(1),
    begins_the_reaction_to_what_was_taken_back,
    begins_again_the_reaction_to_what_was_taken_back,
    Turn.takes_back,
    begins_again_and_takes_it_back,
    lambda turn: turn.records(PartState.SENT, mid="s9"),
    lambda turn: turn.records(PartState.FAILED),
    lambda turn: turn.records(PartState.UNKNOWN),
    proves_that_the_echo_was_ours,
    lambda turn: turn.finishes(Outcome.ANSWERED),
    lambda turn: turn.finishes(Outcome.UNDELIVERABLE),
    finishes_with_news,
    finishes_for_people,
    Turn.holds,
    lambda turn: turn.holds(drop_plan=True),
    Turn.abandons,
    Turn.lets_another_worker_have_it,
]
TO_A_CONVERSATION: list[Step] = [
    *TO_A_PART,
    reads_back_an_older_humans_words,
    nothing_arrived_of_what_was_taken_back,
    nothing_arrived_and_its_worker_is_gone,
    at_rest(Turn.writes),
    at_rest(writes_to_people),
    gathering(Turn.control),
    gathering(lambda turn: turn.echo("Это Мария", "h3")),
    gathering(lambda turn: turn.echo("Это Мария", "h3", found="reconcile")),
    gathering(Turn.deletes),
    held(Turn.claims, Deferral.BACKOFF),
    held(Turn.deletes),
    held(lambda turn: turn.echo("Это Мария", "h3")),
    held(lambda turn: turn.echo("Это Мария", "h3", found="reconcile")),
]
NOT_POSSIBLE_THERE = (AttributeError, AssertionError, LeaseLost, OutcomeRefused)
"""No lease or no plan to do it with, or the books refuse it."""


async def act_by_act(scripts: ObservedScripts, settings: Settings) -> None:
    """From every state of a part, everything that may happen to it, as far as it may."""
    for name, before in BEFORE.items():
        for then in TO_A_CONVERSATION if name in ("nothing", "leased", "sending") else TO_A_PART:
            await scripts.begin_anew(CONTACT)
            turn = Turn(scripts, settings)
            await before(turn)
            try:
                await then(turn)
            except NOT_POSSIBLE_THERE:
                continue


async def lives_at_random(scripts: ObservedScripts, settings: Settings) -> None:
    for seed in range(LIVES):
        await scripts.begin_anew(*CONTACTS)
        lives = Lives(scripts, settings, Random(seed))
        for _ in range(STEPS):
            await lives.step()


async def test_every_change_is_in_the_table_and_every_row_of_it_happens(
    observed: ObservedScripts, settings: Settings
) -> None:
    await act_by_act(observed, settings)
    by_hand = set(observed.conversations), set(observed.parts)
    await lives_at_random(observed, settings)

    for rows, found, sure in (
        (CONVERSATION, observed.conversations, by_hand[0]),
        (PART, observed.parts, by_hand[1]),
    ):
        assert set(found) - changes_of(rows) == set(), "not in the table"
        assert changes_of(rows) - sure == set(), "does not happen"


def test_the_tables_speak_of_every_state_and_of_no_other() -> None:
    for rows, states in ((CONVERSATION, set(STATES)), (PART, set(PART_STATES))):
        changes = changes_of(rows)
        assert {before for before, _, _ in changes} == states | {NONE}
        assert {after for _, _, after in changes} - {GONE} == states
        assert len(changes) == sum(len(row.before) * len(row.by) for row in rows), "a change stands in two rows"
    assert set(PART_STATES) == set(PartState)


def test_what_changes_a_state_is_a_script_or_an_event() -> None:
    scripts = {file.stem for file in sources("store", kinds=(".lua",))}
    events = {"message", "echo", "late echo", "edit", "deletion", "thread control"}

    assert {by for _, by, _ in changes_of((*CONVERSATION, *PART))} - events <= scripts
