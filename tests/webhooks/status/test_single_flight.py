import asyncio
from dataclasses import dataclass, field

import pytest

from webhooks.status.single_flight import SingleFlight

pytestmark = pytest.mark.anyio


@dataclass
class Source:
    """Answers when it is let, with how often it was looked at."""

    looks: int = 0
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    failure: Exception | None = None
    now: float = 0.0

    async def look(self) -> int:
        self.looks += 1
        seen = self.looks
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return seen

    def shared(self) -> SingleFlight[int]:
        return SingleFlight(self.look, fresh_seconds=lambda seen: 5.0 if seen == 1 else 1.0, clock=lambda: self.now)


async def test_all_who_ask_together_share_one_look() -> None:
    source = Source()
    shared = source.shared()
    asking = [asyncio.create_task(shared.get()) for _ in range(100)]
    await asyncio.sleep(0)
    source.may_answer.set()

    assert await asyncio.gather(*asking) == [1] * 100
    assert source.looks == 1


async def test_what_was_seen_holds_for_as_long_as_it_says() -> None:
    source = Source()
    source.may_answer.set()
    shared = source.shared()
    seen = []
    for source.now in (0.0, 4.9, 5.0, 5.9, 6.0):
        seen.append(await shared.get())

    assert seen == [1, 1, 2, 2, 3]


async def test_whoever_leaves_takes_the_look_from_nobody() -> None:
    source = Source()
    shared = source.shared()
    leaves, stays = asyncio.create_task(shared.get()), asyncio.create_task(shared.get())
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.sleep(0)
    source.may_answer.set()

    assert await stays == 1
    assert leaves.cancelled()


async def test_a_look_that_fails_is_told_and_done_again() -> None:
    source = Source(failure=RuntimeError("a bug"))
    source.may_answer.set()
    shared = source.shared()
    with pytest.raises(RuntimeError, match="a bug"):
        await shared.get()
    source.failure = None

    assert await shared.get() == 2
