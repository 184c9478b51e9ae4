"""A process says that it lives while it does its work, and not merely while it exists."""

import asyncio

import pytest

from runtime.settings import Settings
from sandbox.patience import PATIENCE_SECONDS
from store.health import SystemHealth
from store.heartbeat import beat_for_ever
from store.scripts import Scripts

pytestmark = pytest.mark.anyio


async def test_a_process_beats_only_while_it_is_at_work(scripts: Scripts, settings: Settings) -> None:
    health = SystemHealth(scripts, settings)
    asked = asyncio.Event()
    works = False

    def at_work() -> bool:
        asked.set()
        return works

    beating = asyncio.create_task(beat_for_ever(health, "worker", at_work=at_work, period_seconds=0.01))
    await asyncio.wait_for(asked.wait(), PATIENCE_SECONDS)
    idle = (await health.look()).count("worker")
    works = True
    for _ in range(500):
        if busy := (await health.look()).count("worker"):
            break
        await asyncio.sleep(0.01)
    beating.cancel()

    assert (idle, busy) == (0, 1)
