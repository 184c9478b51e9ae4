import asyncio

import pytest

from runtime.cancelling import cancel_and_wait, uninterrupted
from sandbox.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_a_task_that_swallows_a_cancellation_ends_all_the_same() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while swallowed < 2:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed += 1
        await asyncio.sleep(60)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await cancel_and_wait(task)

    assert swallowed == 2
    assert task.cancelled()


async def test_work_is_finished_before_the_cancellation_goes_on() -> None:
    begun, may_end, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        await may_end.wait()
        done.set()
        return "recorded"

    caller = asyncio.create_task(uninterrupted(work()))
    await begun.wait()
    for _ in range(3):
        caller.cancel()
        await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    await asyncio.wait({caller})

    assert done.is_set()
    assert caller.cancelled()


async def test_what_is_not_cancelled_gives_its_result_or_its_failure() -> None:
    async def fail() -> None:
        raise ValueError("x")

    async def answer() -> int:
        return 42

    assert await uninterrupted(answer()) == 42
    with pytest.raises(ValueError, match="x"):
        await uninterrupted(fail())
