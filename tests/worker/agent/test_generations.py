"""The provider's own record of a turn that ended in the stub."""

from pathlib import Path

import pytest

from runtime.embedded import EmbeddedValkey
from sandbox.model.faults import FAULTS
from store.connection import Store
from store.keys import GENERATIONS as WAITING
from store.scripts import Scripts
from store.telemetry import (
    read_generations,
)
from tests.worker.agent.a_day import nightshift, store
from tests.worker.agent.thinking import Bench, good
from worker.agent.generations import Generations, ask_later
from worker.agent.telemetry import Telemetry

pytestmark = pytest.mark.anyio


async def test_the_providers_own_record_of_a_stub_is_attached_later(
    bench: Bench, redis: Store, valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    scripts = Scripts(redis)
    bench.model.play_for_good(FAULTS["reasoning_lock"])
    record = await store(Telemetry(scripts), await bench.run())
    generations = Generations(scripts, bench.http, base_url=bench.url, api_key="sk-invented")
    assert await generations.fetch_due() == 0, "the record appears with a delay"
    await make_due(redis)

    assert await generations.fetch_due() == 4
    kept = await read_generations(scripts, record)
    assert [g["id"] for g in kept] == [f"gen-sandbox-00000{n}" for n in range(1, 5)]
    assert kept[0]["provider_name"] == "Sandbox"
    shown = nightshift(valkey, tmp_path, "report", "reasoning", record)
    assert shown.stdout.count("the provider's own record") == 4


async def test_a_generation_that_nobody_knows_is_asked_for_three_times(bench: Bench, redis: Store) -> None:
    scripts = Scripts(redis)
    await ask_later(scripts, "c0ffee", "1-1", ["gen-unknown", "with blanks"])
    generations = Generations(scripts, bench.http, base_url=bench.url, api_key="sk-invented")

    for left in (1, 1, 0):
        await make_due(redis)
        assert await generations.fetch_due() == 0
        assert await redis.zcard(WAITING) == left


async def test_a_good_turn_asks_for_no_generation(bench: Bench, redis: Store) -> None:
    bench.model.play_for_good(good())

    await store(Telemetry(Scripts(redis)), await bench.run())

    assert await redis.zcard(WAITING) == 0


async def make_due(redis: Store) -> None:
    for member in await Scripts(redis).command("ZRANGE", WAITING, 0, -1):
        await Scripts(redis).command("ZADD", WAITING, 0, member)
