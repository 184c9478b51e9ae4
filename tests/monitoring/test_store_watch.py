"""Redis is gone: told after half a minute, once, and its end once."""

import pytest

from monitoring.store_watch import StoreWatch
from runtime.embedded import EmbeddedValkey
from tests.monitoring.watched import Watched

pytestmark = pytest.mark.anyio


async def test_redis_down_is_told_after_half_a_minute_once_and_its_end_once(
    watched: Watched, valkey: EmbeddedValkey
) -> None:
    watch = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    well = await watch.look()
    valkey.kill()
    for watched.clock.now in (5, 34):
        down = await watch.look()
    patient = list(watched.said)
    for watched.clock.now in (36, 60, 600):
        await watch.look()
    told = list(watched.said)
    valkey.restart()
    for watched.clock.now in (605, 610):
        again = await watch.look()

    assert (well, down, again) == (True, False, True)
    assert patient == []
    assert told == ["Redis cannot be written to: messages cannot be accepted, Meta will send them again later."]
    assert watched.said == [*told, "Redis takes messages again."]
    assert watched.telegram.messages[1]["text"].endswith("Lasted: 10 min 0 s")


async def test_a_short_outage_of_redis_is_not_worth_a_word(watched: Watched, valkey: EmbeddedValkey) -> None:
    watch = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    valkey.kill()
    for watched.clock.now in (5, 20):
        await watch.look()
    valkey.restart()
    for watched.clock.now in (25, 60):
        await watch.look()

    assert watched.said == []


async def test_several_receivers_tell_the_end_of_an_outage_once(watched: Watched, valkey: EmbeddedValkey) -> None:
    watches = [
        StoreWatch(watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms)
        for _ in range(2)
    ]
    valkey.kill()
    for watched.clock.now in (0, 31):
        for watch in watches:
            await watch.look()
    valkey.restart()
    for watched.clock.now in (60, 65):
        for watch in watches:
            await watch.look()

    assert watched.said.count("Redis takes messages again.") == 1
