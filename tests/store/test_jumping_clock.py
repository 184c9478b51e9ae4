"""The server's clock goes back or jumps ahead: nobody waits for it, and nobody is expired by it."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bot.alerts.alert import Alert
from bot.conversation import Conversation, PlanMeta
from bot.incoming.events import Channel, Comment, Contact, CustomerMessage, Echo, MessageKind, Noted, UnreadMessage
from bot.outcome import Deferral
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config, Debounce, Environment, Settings, Shift
from store.accounts.pacing import Pacing, Slot
from store.accounts.parking import Parking
from store.connection import connect
from store.health import SystemHealth, overdue_after_seconds
from store.incoming.inbox import Inbox
from store.keys import parking_key
from store.ledger import Ledger
from store.outboxes.alerts import AlertOutbox, WaitingAlert
from store.outboxes.comments import CommentOutbox
from store.outboxes.unread_messages import UnreadMessages
from store.schedule import Due, Schedule
from store.server.clock import ServerClock
from store.server.clock_watch import AHEAD_MS, BACK_MS, ClockWatch, Told, jump_ms
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import MaySend, NotClaimed
from store.turns.lease import LEASE_SECONDS, Lease
from tests.jumping_clock import MovedScripts
from tests.rooms import PRODUCT, ROOT, sources
from tests.store.telling import answered

pytestmark = pytest.mark.anyio

HOUR = 3600.0
DAY = 24 * HOUR
ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")
CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")
CID = CONTACT.conversation_id


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = Config(
        accounts=(ACCOUNT,),
        debounce=Debounce(quiet_seconds=4, max_wait_seconds=15),
        shift=Shift(takeover_minutes=10),
    )
    return settings.model_copy(update={"config": config})


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


@pytest.fixture
async def moved(valkey: EmbeddedValkey) -> AsyncIterator[MovedScripts]:
    client = connect(valkey.url, max_connections=20, timeout_seconds=5)
    await client.flushall()
    yield MovedScripts(client)
    await client.aclose()


@pytest.fixture
async def house(moved: MovedScripts, settings: Settings) -> House:
    house = House(moved, settings)
    await house.dispatch()
    return house


# The clock goes back.


async def test_a_burst_is_not_kept_waiting(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await house.claimable_after(15)


async def test_what_was_handed_out_and_lost_is_handed_out_again(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    assert (await house.dispatch()).conversation_ids == (CID,)
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    await house.scripts.pass_time(16)
    assert (await house.dispatch()).conversation_ids == (CID,)


async def test_the_lease_of_a_dead_worker_ends(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    await house.claimed()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert not await house.claimable_after(LEASE_SECONDS - 2)
    assert await house.claimable_after(3)


async def test_a_live_worker_keeps_its_lease(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, conversation = await house.claimed()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await lease.renew()
    await answered(house.scripts, house.settings, lease, conversation)


@pytest.mark.parametrize("reason", [Deferral.BACKOFF, Deferral.SETTLING, Deferral.HUMANS_FIRST, "parked"])
async def test_what_is_held_is_looked_at(house: House, reason: str) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, _ = await house.claimed()
    await lease.hold(60, reason)
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await house.claimable_after(1)


async def test_a_takeover_lasts_no_longer_than_one_taken_now(house: House) -> None:
    await house.writes()
    await house.human_writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    _, conversation = await house.claimed()
    assert 0 < conversation.takeover_until_ms - conversation.now_ms <= 600_000


async def test_a_takeover_of_a_conversation_at_rest_is_cut_when_the_customer_writes(house: House) -> None:
    await house.human_writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.writes()

    assert not await house.claimable_after(590)
    assert await house.claimable_after(15)


async def test_messages_that_are_open_for_too_long_are_seen(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(house.overdue_seconds + 1)

    assert (await house.health.look()).overdue == 1


async def test_a_message_is_not_younger_than_now(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(16)

    _, conversation = await house.claimed()
    assert conversation.oldest_received_ms <= conversation.now_ms


async def test_the_doubt_about_a_send_is_settled_in_time(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, conversation = await house.claimed()
    planned = (await lease.plan(conversation, ["Ответ"], PlanMeta())).conversation
    assert planned.plan is not None
    assert await lease.begin_part(planned.plan.id, 0, margin_seconds=1) == MaySend()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(LEASE_SECONDS + 1)

    _, again = await house.claimed()
    assert again.plan is not None
    assert again.now_ms - again.plan.parts[0].sending_at_ms >= LEASE_SECONDS * 1000


async def test_the_line_of_an_account_begins_anew(house: House) -> None:
    pacing = Pacing(house.scripts)
    await pacing.take(ACCOUNT, "read", patience_seconds=1)
    await house.scripts.jump(-HOUR)

    assert isinstance(await pacing.take(ACCOUNT, "read", patience_seconds=1), Slot)


async def test_outboxes_are_emptied(house: House) -> None:
    comments, unread, alerts = CommentOutbox(house.scripts), UnreadMessages(house.scripts), AlertOutbox(house.scripts)
    await comments.note(Comment(CONTACT.channel, ACCOUNT.id, "17900000000000001", "900", 1, "цена?"))
    bare = UnreadMessage(CONTACT.channel, ACCOUNT.id, "mid-u", 1, CONTACT.customer_id)
    await house.inbox.receive([Noted("ghost_edit", ACCOUNT.id, unread=bare)])
    await alerts.raise_alert("an-alert", Alert("x"))
    await alerts.failed(WaitingAlert("an-alert", Alert("x"), tries=2), again_in_seconds=300)
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(61)

    now_ms = await house.scripts.ask_time()
    due = await house.schedule.pop_due(limit=10, quota=10)
    assert len(await comments.due(now_ms=now_ms, limit=10)) == 1
    assert len(await unread.take(10)) == 1
    assert "an-alert" in due.alert_ids


async def test_the_dead_do_not_seem_alive(house: House) -> None:
    await house.health.beat("worker", "dead:1")
    await house.scripts.jump(-HOUR)
    await house.health.beat("dispatcher", "live:2")
    await house.scripts.pass_time(31)

    assert (await house.health.look()).count("worker") == 0


async def test_an_account_that_rests_may_try_again(house: House) -> None:
    await Parking(house.scripts).park(ACCOUNT, "throttled", 3600)  # its time to live has grown by an hour
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert 0 < int(await house.scripts.command("TTL", parking_key(ACCOUNT))) <= 60


async def test_it_is_told_once_however_many_see_it(house: House, settings: Settings) -> None:
    others = [House(house.scripts, settings) for _ in range(2)]
    for each in others:
        await each.dispatch()
    await house.scripts.jump(-HOUR)
    for each in (house, *others):
        await each.dispatch()
        await each.dispatch()

    waiting = await AlertOutbox(house.scripts).load("system:clock_went_back")
    assert (await house.events())["clock_went_back"] == "1"
    assert waiting is not None
    assert waiting.alert.count == 1
    assert 3590 <= int(waiting.alert.detail) <= 3610


async def test_a_dispatcher_that_comes_later_finds_out_from_the_ledger(house: House, settings: Settings) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    late = House(house.scripts, settings)
    await late.dispatch()

    assert await late.claimable_after(15)
    assert (await late.events())["clock_went_back"] == "1"


async def test_what_could_not_be_mended_is_mended_later(house: House, valkey: EmbeddedValkey) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    due = await house.schedule.pop_due(limit=10, quota=10)
    house.watch.saw(due.told)
    valkey.kill()
    with pytest.raises(Exception, match="Connection"):
        await house.watch.mend()
    valkey.restart()

    await house.watch.mend()
    assert await house.claimable_after(15)


async def test_thousands_are_pulled_back(house: House) -> None:
    number = 1200
    for n in range(number):
        await house.writes(f"m{n}", Contact(ACCOUNT.channel, ACCOUNT.id, f"9001{n:012d}"))
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(15)

    due = await house.schedule.pop_due(limit=2000, quota=2000)
    assert len(due.conversation_ids) == number


# The clock jumps ahead.


async def test_a_jump_ahead_is_in_doubt_until_metas_times_bear_it_out(house: House) -> None:
    await house.scripts.jump(DAY)
    await house.dispatch()
    doubted = await house.conversations.clock_ahead_ms()

    await house.writes()  # Meta's own time is as late
    await house.scripts.pass_time(5)
    await house.dispatch()

    assert doubted == pytest.approx(DAY * 1000, abs=5000)
    assert await house.conversations.clock_ahead_ms() == 0
    assert (await house.events())["clock_jumped_ahead"] == "1"


async def test_a_clock_that_is_wrong_stays_in_doubt_and_is_believed_once_it_is_right(house: House) -> None:
    before_ms = await house.scripts.ask_time()
    await house.scripts.jump(DAY)
    await house.dispatch()
    await house.inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "a", before_ms + 2000, "Привет")])
    await house.scripts.pass_time(5)
    await house.dispatch()
    doubted = await house.conversations.clock_ahead_ms()
    await house.scripts.jump(-DAY)
    await house.dispatch()

    assert doubted == pytest.approx(DAY * 1000, abs=10_000)
    assert await house.conversations.clock_ahead_ms() < AHEAD_MS


async def test_who_waits_for_people_under_a_doubtful_clock_is_not_looked_at_over_and_over(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, _ = await house.claimed()
    await house.scripts.jump(2 * DAY)
    await house.dispatch()
    await house.scripts.pass_time(1)
    claimed = await house.claim()
    held = claimed.lease if isinstance(claimed, Claimed) else lease
    await held.hold(3600, Deferral.OFF_DUTY)

    assert not await house.claimable_after(60)


# What is a jump, and what is only the way of the answers.

_seconds = st.floats(0, 600)


@given(elapsed=_seconds, ways=st.tuples(_seconds, _seconds, _seconds, _seconds))
def test_slow_answers_are_no_jump(elapsed: float, ways: tuple[float, float, float, float]) -> None:
    there, back, there_again, back_again = ways
    first = Told(1_790_000_000_000, 0, there + back)
    asked = there + back + elapsed
    answered = asked + there_again + back_again
    second = Told(first.now_ms + round((asked + there_again - there) * 1000), asked, answered)

    assert jump_ms(first, second) == 0


@given(elapsed=_seconds, jump=st.floats(-1e6, 1e6))
def test_a_jump_is_measured(elapsed: float, jump: float) -> None:
    first = Told(1_790_000_000_000, 0, 0.01)
    second = Told(first.now_ms + round((elapsed + jump) * 1000), elapsed, elapsed + 0.01)

    found = jump_ms(first, second)

    if jump * 1000 < -BACK_MS - 100 or jump * 1000 > AHEAD_MS + 100:
        assert found == pytest.approx(jump * 1000, abs=100)
    elif -BACK_MS + 100 < jump * 1000 < AHEAD_MS - 100:
        assert found == 0


# Our machines' own clocks.


def test_the_servers_time_is_carried_on_by_a_steady_clock() -> None:
    steady = [100.0]
    clock = ServerClock(monotonic=lambda: steady[0], before=lambda: 5)
    before = clock.now_ms()
    clock.tells(1_790_000_000_000)
    steady[0] += 2.5
    carried = clock.now_ms()
    clock.tells(1_789_000_000_000)  # it has gone back, and we with it

    assert (before, carried, clock.now_ms()) == (5, 1_790_000_002_500, 1_789_000_000_000)


async def test_every_answer_that_names_the_time_sets_the_clock(house: House) -> None:
    await house.scripts.jump(-3 * DAY)
    await house.writes()
    there = await house.scripts.ask_time()
    for way in (
        lambda: house.health.beat("worker", "a"),
        house.health.look,
        lambda: house.inbox.receive([Noted("x")]),
        lambda: house.schedule.pop_due(limit=0, quota=0),
    ):
        house.scripts.clock.tells(0)
        await way()
        told = house.scripts.clock.now_ms()
        assert there - 1000 <= told <= await house.scripts.ask_time() + 1000


# Wall clocks are read for what is shown and dated on this machine alone.
MAY_READ_THE_WALL_CLOCK = {
    "runtime/clock.py",
    "store/server/clock.py",  # until Redis has said anything
    "worker/agent/spans.py",  # Sentry dates what it gets by our clock
    "cli/supervisor.py",
    "cli/demo_player.py",
    "webhooks/app.py",  # defaults of arguments
    "webhooks/endpoints.py",
    "webhooks/account_id_discovery.py",
    "clients/llm/client.py",
    "rehearsal/faults/customers.py",
}


_READS_THE_WALL_CLOCK = re.compile(
    r"from runtime\.clock import [^\n]*\bnow_ms\b|(?<![\w.])clock\.now_ms\b|\btime\.time(_ns)?\(|datetime\.now\("
)


def test_nothing_else_decides_by_a_wall_clock() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in sources(*PRODUCT, "cli", "rehearsal")
        if _READS_THE_WALL_CLOCK.search(path.read_text(encoding="utf-8"))
    }

    assert readers == MAY_READ_THE_WALL_CLOCK


# Lives at random.


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.data())
def test_whatever_the_clock_does_everybody_is_answered_once(valkey: EmbeddedValkey, data: st.DataObject) -> None:
    asyncio.run(_live(valkey, data))


async def _live(valkey: EmbeddedValkey, data: st.DataObject) -> None:
    client = connect(valkey.url, max_connections=5, timeout_seconds=5)
    await client.flushall()
    scripts = MovedScripts(client)
    settings = Settings(
        env=Environment(redis_url=valkey.url),
        config=Config(accounts=(ACCOUNT,), shift=Shift(takeover_minutes=10)),
    )
    house = House(scripts, settings)
    lives = Lives(house)
    await house.dispatch()
    for _ in range(data.draw(st.integers(5, 30))):
        step = data.draw(st.sampled_from(["writes", "human", "time", "jump", "worker", "dies"]))
        seconds = data.draw(st.sampled_from([-DAY, -HOUR, -60.0, -5.0, -1.0, 1.0, 5.0, 90.0, HOUR, DAY]))
        await lives.step(step, seconds)
    await lives.to_their_end()
    await client.aclose()


class Lives:
    """Workers in a house without words: what matters is who is served when."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.written = 0

    async def step(self, step: str, seconds: float) -> None:
        match step:
            case "writes":
                self.written += 1
                await self.house.writes(f"m{self.written}")
            case "human":
                await self.house.human_writes(f"h{self.written}-{seconds}")
            case "time":
                await self.house.scripts.pass_time(abs(seconds) % 100)
            case "jump":
                await self.house.scripts.jump(seconds)
            case "dies":
                await self.house.claim()
            case _:
                await self.work()

    async def work(self) -> bool:
        claimed = await self.house.claim()
        if isinstance(claimed, NotClaimed):
            return False
        lease, conversation = claimed.lease, claimed.conversation
        if conversation.takeover_until_ms > conversation.now_ms:
            await lease.hold((conversation.takeover_until_ms - conversation.now_ms) / 1000, Deferral.HUMAN)
            return False
        await answered(self.house.scripts, self.house.settings, lease, conversation)
        return True

    async def to_their_end(self) -> None:
        """A takeover, a lease and a burst, and a few seconds for each to be noticed: no longer, whatever has jumped."""
        for _ in range(80):
            await self.work()
            await self.house.scripts.pass_time(10)
        sums = await Ledger(self.house.scripts).sums()
        assert sums.open == 0
        assert sums.balanced
        assert sums.received == self.written
