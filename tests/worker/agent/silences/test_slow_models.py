"""Models that take all the time there is: what is kept back for the next rung and for sending stays."""

import pytest

from sandbox.model.faults import FAULTS
from tests.worker.agent.silences.catalogue import TIMED, rungs
from tests.worker.agent.thinking import RESCUE, Bench, good
from worker.agent.agent_run import Budget
from worker.agent.model_requests import deadlines_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", TIMED)
async def test_a_model_that_takes_all_the_time_once_leaves_enough_for_the_next(bench: Bench, name: str) -> None:
    bench.model.script([FAULTS[name]])
    bench.model.play_for_good(good())

    result = await bench.run(seconds=4)

    assert result.reply is not None
    assert result.reply.text == RESCUE
    assert rungs(result) == tuple(TIMED[name].rungs[:2])
    assert result.attempts[0].rule == TIMED[name].rule


def test_no_deadline_takes_what_is_kept_back_or_the_time_for_sending() -> None:
    budget = Budget(60, ends_at=160)

    deadlines = deadlines_of(budget, now=110, kept_back=15)

    assert deadlines.total_seconds == 160 - 110 - 15 - budget.for_sending


@pytest.mark.parametrize("name", TIMED)
async def test_models_that_take_all_the_time_leave_enough_for_the_stub(bench: Bench, name: str) -> None:
    bench.model.play_for_good(FAULTS[name])

    result = await bench.run(seconds=4)

    assert result.reply is None
    assert rungs(result) == tuple(TIMED[name].rungs)
    assert result.attempts[0].rule == TIMED[name].rule


async def test_a_slow_answer_is_waited_for(bench: Bench) -> None:
    bench.model.play_for_good(FAULTS["slow"])

    result = await bench.run(seconds=6)

    assert result.reply is not None
    assert rungs(result) == ("main",)
