"""The server's clock jumps ahead; what is a jump, and what is only the way of the answers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.incoming.events import CustomerMessage, MessageKind, Noted
from bot.outcome import Deferral
from store.server.clock import ServerClock
from store.server.clock_watch import AHEAD_MS, BACK_MS, Told, jump_ms
from store.turns.conversations import Claimed
from tests.rooms import PRODUCT, ROOT, sources
from tests.store.clock.moved import CONTACT, DAY, House

pytestmark = pytest.mark.anyio


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
