import asyncio

import pytest

from sandbox.patience import PATIENCE_SECONDS
from worker.gate import TurnGate

pytestmark = pytest.mark.anyio


async def test_turns_run_side_by_side() -> None:
    gate = TurnGate()

    async with gate.enter(), gate.enter():
        pass


async def test_a_turn_that_runs_alone_waits_for_the_others_and_they_for_it() -> None:
    gate = TurnGate()
    order: list[str] = []
    release = asyncio.Event()

    async def turn(name: str, *, alone: bool = False, until: asyncio.Event | None = None) -> None:
        async with gate.enter(alone=alone):
            order.append(f"{name} in")
            if until:
                await until.wait()
            order.append(f"{name} out")

    first = asyncio.create_task(turn("first", until=release))
    await asyncio.sleep(0)
    alone = asyncio.create_task(turn("alone", alone=True))
    await asyncio.sleep(0)
    later = asyncio.create_task(turn("later"))
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, alone, later)

    assert order == ["first in", "first out", "alone in", "alone out", "later in", "later out"]


async def test_giving_up_on_running_alone_opens_the_gate_again() -> None:
    gate = TurnGate()
    async with gate.enter():
        waiting = asyncio.create_task(_through(gate, alone=True))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})

    async with asyncio.timeout(PATIENCE_SECONDS):
        await _through(gate)


async def _through(gate: TurnGate, *, alone: bool = False) -> None:
    async with gate.enter(alone=alone):
        pass
