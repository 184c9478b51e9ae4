"""Lives at random under a clock that jumps."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bot.outcome import Deferral
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Environment, Settings, Shift
from store.connection import connect
from store.ledger import Ledger
from store.turns.decisions import NotClaimed
from tests.jumping_clock import MovedScripts
from tests.store.clock.moved import ACCOUNT, DAY, HOUR, House
from tests.store.telling import answered

pytestmark = pytest.mark.anyio


@hypothesis_settings(max_examples=25)
@given(st.data())
def test_whatever_the_clock_does_everybody_is_answered_once(valkey: EmbeddedValkey, data: st.DataObject) -> None:
    asyncio.run(_live(valkey, data))


async def _live(valkey: EmbeddedValkey, data: st.DataObject) -> None:
    client = connect(valkey.url, max_connections=5, timeout_seconds=5)
    await client.flushall()
    scripts = MovedScripts(client)
    settings = Settings(
        env=Environment(redis_url=valkey.url),
        config=Config(accounts=(ACCOUNT,), shift=Shift(takeover_minutes=10)),
    )
    house = House(scripts, settings)
    lives = Lives(house)
    await house.dispatch()
    for _ in range(data.draw(st.integers(5, 30))):
        step = data.draw(st.sampled_from(["writes", "human", "time", "jump", "worker", "dies"]))
        seconds = data.draw(st.sampled_from([-DAY, -HOUR, -60.0, -5.0, -1.0, 1.0, 5.0, 90.0, HOUR, DAY]))
        await lives.step(step, seconds)
    await lives.to_their_end()
    await client.aclose()


class Lives:
    """Workers in a house without words: what matters is who is served when."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.written = 0

    async def step(self, step: str, seconds: float) -> None:
        match step:
            case "writes":
                self.written += 1
                await self.house.writes(f"m{self.written}")
            case "human":
                await self.house.human_writes(f"h{self.written}-{seconds}")
            case "time":
                await self.house.scripts.pass_time(abs(seconds) % 100)
            case "jump":
                await self.house.scripts.jump(seconds)
            case "dies":
                await self.house.claim()
            case _:
                await self.work()

    async def work(self) -> bool:
        claimed = await self.house.claim()
        if isinstance(claimed, NotClaimed):
            return False
        lease, conversation = claimed.lease, claimed.conversation
        if conversation.takeover_until_ms > conversation.now_ms:
            await lease.hold((conversation.takeover_until_ms - conversation.now_ms) / 1000, Deferral.HUMAN)
            return False
        await answered(self.house.scripts, self.house.settings, lease, conversation)
        return True

    async def to_their_end(self) -> None:
        """A takeover, a lease and a burst, and a few seconds for each to be noticed: no longer, whatever has jumped."""
        for _ in range(80):
            await self.work()
            await self.house.scripts.pass_time(10)
        sums = await Ledger(self.house.scripts).sums()
        assert sums.open == 0
        assert sums.balanced
        assert sums.received == self.written
