"""A turn that newer messages overtake starts again while there is time, and loses no good reply for it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime.settings import Turn as TurnSettings
from sandbox.model.answers import Answer, ChatRequest
from sandbox.model.faults import FAULTS, TAGS
from sandbox.patience import PATIENCE_SECONDS
from tests.worker.turning import TurnBench

pytestmark = pytest.mark.anyio


class Clock:
    """The loop's own, moved on by what a thought is said to take."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._clock() + self.ahead


async def overtaken(turns: TurnBench, script: list[Any], *, thought_seconds: float, news: int, budget: int = 20) -> str:
    """A turn whose every thought takes so long, and during whose first ones the customer writes on."""
    clock = Clock(turns.house.monotonic)
    house = turns.another(config={"turn": TurnSettings(budget_seconds=budget)}, monotonic=clock)

    def slowly(item: Any) -> Callable[[ChatRequest], Any]:
        def respond(request: ChatRequest) -> Any:
            if isinstance(item, str):
                return Answer(content=f"{item}\n{TAGS}", delay_seconds=0.3).response(request)
            return item.respond(request)

        return respond

    turns.model.script([slowly(item) for item in script])
    turns.model.play_for_good(FAULTS["500"])
    running = asyncio.create_task(turns.turn(house))
    async with asyncio.timeout(PATIENCE_SECONDS):
        for number in range(news):
            while len(turns.model.requests) <= number and not running.done():
                await asyncio.sleep(0.01)
            await turns.writes(f"news-{number}", f"И ещё вопрос номер {number}")
            clock.ahead += thought_seconds
        return await running


async def test_without_time_for_another_thought_the_reply_in_hand_is_sent(turns: TurnBench) -> None:
    await turns.writes("m", "Сколько стоит кружка?")

    word = await overtaken(turns, ["Кружка стоит 1900 рублей."], thought_seconds=10, news=1)
    books = await turns.books()
    turns.model.reset()
    turns.answers("И на это отвечу.")
    last = await turns.turn()

    assert word.startswith("answered")
    assert books == {"received": 2, "answered": 1, "open": 1}
    assert last.startswith("answered")
    assert turns.read == ["Кружка стоит 1900 рублей.", "И на это отвечу."]


async def test_with_time_it_thinks_about_all_of_it(turns: TurnBench) -> None:
    await turns.writes("m", "Сколько стоит кружка?")

    word = await overtaken(turns, ["Кружка стоит 1900 рублей.", "Отвечаю на всё."], thought_seconds=1, news=1)

    assert word.startswith("answered")
    assert turns.read == ["Отвечаю на всё."]
    assert await turns.books() == {"received": 2, "answered": 2}


async def test_a_second_thought_that_fails_costs_not_the_first_ones_reply(turns: TurnBench) -> None:
    await turns.writes("m", "Сколько стоит кружка?")

    word = await overtaken(turns, ["Кружка стоит 1900 рублей."], thought_seconds=1, news=1, budget=8)

    assert word.startswith("answered")
    assert turns.read == ["Кружка стоит 1900 рублей."]
    assert await turns.books() == {"received": 2, "answered": 1, "open": 1}


async def test_a_call_for_a_human_is_heard_though_a_reply_is_in_hand(turns: TurnBench) -> None:
    await turns.writes("m", "Сколько стоит кружка?")
    turns.model.script([Answer(content=f"Кружка стоит 1900 рублей.\n{TAGS}", delay_seconds=0.3)])
    running = asyncio.create_task(turns.turn())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not turns.model.requests:
            await asyncio.sleep(0.01)
    await turns.writes("h", "Позовите человека")

    assert await running == "handed_over (asked_for_human)"
    assert await turns.books() == {"received": 2, "handed_over": 2}
