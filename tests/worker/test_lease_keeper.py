"""A turn runs while its lease lives, and the lease is given back whatever becomes of the turn."""

import asyncio

import pytest

from bot.outcome import Deferral, Outcome
from runtime.clock import monotonic
from store.connection import StoreUnavailable
from store.schedule import Schedule
from store.turns.conversations import Claimed
from store.turns.lease import LeaseLost
from store.turns.scratchpad import Scratchpad
from tests.worker.turning import TurnBench
from worker.delivery.waiting import TurnScratchpad
from worker.lease_keeper import keep_lease
from worker.turn_end import Ended, Failed, Lost, TurnEnd

pytestmark = pytest.mark.anyio


class Kept:
    """One leased conversation, and a turn whose body a test gives."""

    def __init__(self, turns: TurnBench, claimed: Claimed) -> None:
        self.turns = turns
        self.lease = claimed.lease
        self.scratchpad = TurnScratchpad()

    async def run(self, result: TurnEnd | Exception | None) -> TurnEnd:
        """None: it goes on and on."""

        async def turn() -> TurnEnd:
            if isinstance(result, Exception):
                raise result
            if result is None:
                await asyncio.Event().wait()
                raise AssertionError
            return result

        return await keep_lease(
            self.lease, turn, scratchpad=self.scratchpad, failures=0, budget_seconds=60, monotonic=monotonic
        )


@pytest.fixture
async def kept(turns: TurnBench) -> Kept:
    await turns.writes("m")
    await Schedule(turns.scripts).pop_due(limit=10, quota=10)
    claimed = await turns.house.conversations.claim(turns.cid)
    assert isinstance(claimed, Claimed)
    return Kept(turns, claimed)


async def test_the_turns_own_end_is_passed_on(kept: Kept) -> None:
    assert await kept.run(Ended(Outcome.ANSWERED)) == Ended(Outcome.ANSWERED)
    assert (await kept.turns.state())["state"] == "leased"  # what gives it back is the turn itself


async def test_a_bug_is_counted_and_the_conversation_comes_again(kept: Kept) -> None:
    kept.scratchpad.note("search кружка", revised="0")

    assert await kept.run(KeyError("x")) == Failed("KeyError")

    state = await kept.turns.state()
    assert (state["state"], state["hold_reason"], state["failures"]) == ("held", Deferral.BACKOFF, "1")
    assert state["notebook"] == "search кружка"


async def test_what_was_looked_up_for_other_words_is_not_kept(kept: Kept) -> None:
    kept.scratchpad.kept = Scratchpad("search кружка", "7")

    await kept.run(KeyError("x"))

    assert "notebook" not in await kept.turns.state()


@pytest.mark.parametrize(("failure", "end"), [(LeaseLost("plan"), Lost()), (StoreUnavailable("away"), Failed("store"))])
async def test_who_may_not_decide_writes_nothing(kept: Kept, failure: Exception, end: TurnEnd) -> None:
    before = await kept.turns.state()

    assert await kept.run(failure) == end
    assert await kept.turns.state() == before


async def test_a_process_that_stops_gives_the_conversation_to_another(kept: Kept) -> None:
    kept.scratchpad.note("search кружка", revised="0")
    running = asyncio.create_task(kept.run(None))
    await asyncio.sleep(0)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    state = await kept.turns.state()
    assert (state["state"], state["hold_reason"], state.get("failures", "0")) == ("held", "released", "0")
    assert state["notebook"] == "search кружка"
