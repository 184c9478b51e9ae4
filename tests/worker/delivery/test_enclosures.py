"""What follows the words changes nothing of the reply: it goes out once, and what goes wrong with it is left."""

import pytest

from bot.outcome import Outcome
from sandbox.model.answers import Answer, tool_call
from sandbox.model.faults import TAGS
from tests.worker.turning import TurnBench
from worker.turn_end import Ended

pytestmark = pytest.mark.anyio

PHOTO = "https://demo-studio.example/p/101.jpg"


async def asked(turns: TurnBench) -> None:
    turns.model.script([f"Спасибо за выбор.\n[REACT: ❤]\n{TAGS}"])
    turns.meta.lose(turns.meta.text(turns.contact.customer_id, "Беру красную!", mid="m"))
    await turns.writes("m", "Беру красную!")


def reactions(turns: TurnBench) -> list[str]:
    to = turns.contact.customer_id
    return [action["action"] for action in turns.meta.actions if action.get("to") == to and action["action"] == "react"]


async def test_a_reaction_follows_the_words(turns: TurnBench) -> None:
    await asked(turns)

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert turns.read == ["Спасибо за выбор."]
    assert len(reactions(turns)) == 1


async def test_all_that_follows_goes_out_and_is_remembered(turns: TurnBench) -> None:
    search = Answer(tool_calls=[tool_call("search_knowledge", {"query": "кружка туман"})], finish_reason="tool_calls")
    turns.model.script([search, f"Вот она.\n[IMAGE: {PHOTO}]\n[REACT: ❤]\n{TAGS}"])
    turns.meta.lose(turns.meta.text(turns.contact.customer_id, "Покажите «Туман»", mid="m"))
    await turns.writes("m", "Покажите «Туман»")

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert [message.get("image") for message in turns.meta.sent] == [None, PHOTO]
    assert len(reactions(turns)) == 1
    assert [role for role, _ in await turns.history()] == ["customer", "bot", "bot"]


async def test_a_reaction_that_fails_is_left(turns: TurnBench) -> None:
    await asked(turns)
    turns.meta.refuse_next(100, None, 400, on="actions")

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert reactions(turns) == []
    assert await turns.alerts() == []
    assert await turns.books() == {"received": 1, "answered": 1}
