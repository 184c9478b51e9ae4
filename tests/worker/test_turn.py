"""The road of a turn: what stands is delivered, what is new is thought about, and nothing ends without its result."""

import asyncio
from typing import Any

import pytest

from bot.outcome import Outcome
from runtime.settings import Shift
from sandbox.model.answers import Answer, ChatRequest
from sandbox.model.faults import TAGS
from store.turns.decisions import ClaimRefusal, NotClaimed
from tests.worker.turning import TurnBench
from worker.turn_end import Ended, Failed, Lost, Waits

pytestmark = pytest.mark.anyio

QUESTION = "Есть ли красная кружка?"
ANSWER = "Да, красная есть, 1900 рублей."


async def test_a_question_is_answered_and_the_books_balance(turns: TurnBench) -> None:
    turns.answers(ANSWER)
    await turns.writes("m", QUESTION)

    end = await turns.end()

    assert end == Ended(Outcome.ANSWERED)
    assert turns.read == [ANSWER]
    assert await turns.books() == {"received": 1, "answered": 1}
    assert await turns.history() == [("customer", QUESTION), ("bot", ANSWER)]
    assert await turns.faults() == []


async def test_a_plan_that_stands_is_sent_without_asking_the_model_again(turns: TurnBench) -> None:
    turns.answers(ANSWER)
    await turns.writes("m", QUESTION)
    turns.meta.refuse_next(2, 1545133, 500)

    first, asked = await turns.end(), len(turns.model.requests)
    second = await turns.end()

    assert (first, second) == (Waits("transient"), Ended(Outcome.ANSWERED))
    assert len(turns.model.requests) == asked == 1
    assert turns.read == [ANSWER]


async def test_a_plan_of_which_nothing_arrived_gives_way_to_newer_words(turns: TurnBench) -> None:
    turns.answers(ANSWER, "И синяя тоже есть.")
    await turns.writes("m", QUESTION)
    turns.meta.refuse_next(2, 1545133, 500)
    await turns.end()
    await turns.writes("m2", "А синяя?")

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert turns.read == ["И синяя тоже есть."]
    assert await turns.books() == {"received": 2, "answered": 2}


async def test_words_that_come_while_it_is_written_are_answered_with_the_rest(turns: TurnBench) -> None:
    def slowly(request: ChatRequest) -> Any:
        return Answer(content=f"{ANSWER}\n{TAGS}", delay_seconds=0.2).response(request)

    turns.model.script([slowly, f"Обе есть.\n{TAGS}"])
    await turns.writes("m", QUESTION)
    running = asyncio.create_task(turns.end())
    async with asyncio.timeout(10):
        while not turns.model.requests:
            await asyncio.sleep(0.01)
        await turns.writes("m2", "А синяя?")
        end = await running

    assert end == Ended(Outcome.ANSWERED)
    assert turns.read == ["Обе есть."]
    assert await turns.books() == {"received": 2, "answered": 2}


async def test_what_waits_for_people_is_asked_of_no_model(turns: TurnBench) -> None:
    await turns.writes("m", QUESTION)

    end = await turns.end(turns.another(config={"shift": Shift(mode="humans_first", humans_first_minutes=5)}))

    assert end == Waits("humans_first")
    assert turns.model.requests == []
    assert await turns.books() == {"received": 1, "open": 1}


async def test_messages_that_were_all_taken_back_get_no_reply(turns: TurnBench) -> None:
    def slowly(request: ChatRequest) -> Any:
        return Answer(content=f"{ANSWER}\n{TAGS}", delay_seconds=0.2).response(request)

    turns.model.script([slowly])
    await turns.writes("m", QUESTION)
    running = asyncio.create_task(turns.end())
    async with asyncio.timeout(10):
        while not turns.model.requests:
            await asyncio.sleep(0.01)
        await turns.takes_back("m")
        end = await running

    assert end == Ended()
    assert turns.read == []
    assert await turns.books() == {"received": 1, "silenced": 1}


async def test_a_poke_too_many_does_nothing(turns: TurnBench) -> None:
    turns.answers(ANSWER)
    await turns.writes("m", QUESTION)
    await turns.end()

    assert await turns.end() == NotClaimed(ClaimRefusal.NOT_HANDED_OUT)
    assert turns.read == [ANSWER]


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (Ended(Outcome.ANSWERED), "answered"),
        (Ended(Outcome.HANDED_OVER, "asked_for_human"), "handed_over (asked_for_human)"),
        (Ended(), "nothing"),
        (Waits("pace"), "waits: pace"),
        (Lost(), "lost"),
        (Failed("KeyError"), "failed: KeyError"),
        (NotClaimed(ClaimRefusal.LEASED), "leased"),
    ],
)
def test_flower_shows_the_words_that_operators_know(end: object, word: str) -> None:
    assert str(end) == word
