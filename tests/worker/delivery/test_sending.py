"""One part: decided, called, recorded; what Meta refuses beside the words is left out, and the words go."""

import pytest

from bot.outcome import Outcome
from sandbox.model.faults import TAGS
from store.accounts.pacing import Pacing
from tests.worker.turning import ACCOUNT, TurnBench
from worker.turn_end import Ended, Waits

pytestmark = pytest.mark.anyio

BUTTONS = "Отложить одну?\n[BUTTONS: Да | Нет]"


async def asked(turns: TurnBench, answer: str = "Да, есть.", mid: str = "m") -> None:
    turns.model.script([f"{answer}\n{TAGS}"])
    await turns.writes(mid)


async def test_titles_to_tap_go_with_the_last_words(turns: TurnBench) -> None:
    await asked(turns, BUTTONS)

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert turns.meta.sent[-1]["buttons"] == ["Да", "Нет"]


async def test_what_is_refused_with_titles_goes_as_words_alone(turns: TurnBench) -> None:
    await asked(turns, BUTTONS)
    turns.meta.refuse_next(100, None, 400)

    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert turns.read == ["Отложить одну?"]
    assert not turns.meta.sent[-1].get("buttons")


async def test_an_account_near_the_end_of_its_allowance_rests(turns: TurnBench) -> None:
    await asked(turns)
    turns.meta.set_usage(95)

    assert await turns.end() == Ended(Outcome.ANSWERED)
    await asked(turns, "И ещё.", mid="m2")
    assert await turns.end() == Waits("usage")


async def test_without_a_slot_no_call_is_made_and_the_words_are_kept(turns: TurnBench) -> None:
    await asked(turns)
    for _ in range(400):  # four seconds of sends
        await Pacing(turns.scripts).take(ACCOUNT, "send", patience_seconds=60)

    assert await turns.end() == Waits("pace")
    assert turns.read == []
    assert (await turns.plan())["0:state"] == "planned"
