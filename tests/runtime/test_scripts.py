import asyncio

import pytest

from runtime.scripts import Scripts

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["script", "command"])
async def test_a_cancellation_is_never_swallowed(scripts: Scripts, kind: str) -> None:
    async def ask_for_ever() -> None:
        while True:
            if kind == "script":
                await scripts.run("sums", 0)
            else:
                await scripts.command("GET", "nothing")
            await asyncio.sleep(60)

    for ticks in list(range(12)) * 10:
        asking = asyncio.create_task(ask_for_ever())
        for _ in range(ticks):
            await asyncio.sleep(0)
        asking.cancel()

        done, _ = await asyncio.wait({asking}, timeout=5)

        assert done
        assert asking.cancelled()
