"""One timer for many waits must end each of them as `asyncio.timeout` would."""

import asyncio

import pytest

from webhooks.guards.patience import Patience

pytestmark = pytest.mark.anyio


async def test_a_wait_that_takes_too_long_is_ended() -> None:
    patience = Patience(0.05)

    with pytest.raises(TimeoutError), patience.for_one():
        await asyncio.Event().wait()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_wait_that_ends_in_time_is_left_alone() -> None:
    patience = Patience(1)

    with patience.for_one():
        await asyncio.sleep(0)
    await asyncio.sleep(1.5)

    with patience.for_one():
        await asyncio.sleep(0.01)


async def test_many_waits_at_once_run_out_each_by_itself() -> None:
    patience = Patience(1)

    async def wait(seconds: float) -> str:
        try:
            with patience.for_one():
                await asyncio.sleep(seconds)
        except TimeoutError:
            return "too long"
        return "in time"

    ends = await asyncio.gather(*(wait(seconds) for seconds in (60, 0, 60, 0.01, 60)))

    assert ends == ["too long", "in time", "too long", "in time", "too long"]


async def test_cancelling_from_outside_stays_cancelling() -> None:
    patience = Patience(30)

    async def wait() -> None:
        with patience.for_one():
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_body_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), Patience(1).for_one():
        raise ZeroDivisionError


async def test_the_same_patience_serves_one_wait_after_another() -> None:
    patience = Patience(0.05)

    for _ in range(3):
        with pytest.raises(TimeoutError), patience.for_one():
            await asyncio.Event().wait()
