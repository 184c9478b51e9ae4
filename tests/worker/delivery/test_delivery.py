"""What a refusal means for the messages of a plan, and what is booked at the end of it."""

from typing import Any

import pytest

from bot.conversation import PartState
from bot.outcome import Outcome
from sandbox.meta.faults import Fault
from store.accounts.parking import Parking
from store.telemetry import read_records
from store.turns.conversations import Conversations
from tests.worker.turning import ACCOUNT, TurnBench
from worker.turn_end import Ended, Waits

pytestmark = pytest.mark.anyio

COLOURS = ("красная", "синяя", "зелёная", "белая", "чёрная", "жёлтая", "розовая", "серая", "золотая", "голубая")
COLOURS = ("красная", "синяя", "зелёная", "белая", "чёрная", "жёлтая", "розовая", "серая", "золотая", "голубая")
# More than one message of Instagram holds.
LONG = "\n\n".join(
    f"Номер {number}: {colour} кружка, {1900 + number} рублей, в наличии {number + 2} штуки, есть подарочная упаковка."
    for number, colour in enumerate(COLOURS)
)


async def asked(turns: TurnBench, answer: str = "Да, есть.") -> None:
    turns.answers(answer)
    await turns.writes("m")


@pytest.mark.parametrize(
    ("refusal", "end", "books"),
    [
        ((2, 1545133, 500), Waits("transient"), "open"),
        ((190, None, 401), Waits("token"), "open"),
        ((10, 2018278, 400), Ended(Outcome.EXPIRED), "expired"),
        ((551, None, 400), Ended(Outcome.UNDELIVERABLE), "undeliverable"),
    ],
)
async def test_each_refusal_has_its_end(
    turns: TurnBench, refusal: tuple[int, int | None, int], end: object, books: str
) -> None:
    await asked(turns)
    turns.meta.refuse_next(*refusal)

    assert await turns.end() == end
    assert await turns.books() == {"received": 1, books: 1}


async def test_words_that_meta_will_never_take_make_place_for_a_handover(turns: TurnBench) -> None:
    await asked(turns, "Нельзя.")
    turns.meta.refuse_next(100, None, 400)

    end = await turns.end()

    assert end == Ended(Outcome.HANDED_OVER, "bad_content")
    assert "Нельзя." not in turns.read
    assert len(turns.read) == 1
    assert [alert["told"] for alert in await turns.alerts()] == [True]


async def test_a_reply_that_was_cut_goes_on_where_it_was_cut(turns: TurnBench) -> None:
    await asked(turns, LONG)
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow"), Fault("refuse", code=2, subcode=1545133, status=500))

    first = await turns.end()
    in_between = list(turns.read)
    last = await turns.end()

    assert (first, last) == (Waits("transient"), Ended(Outcome.ANSWERED))
    assert len(in_between) == 1
    assert len(turns.read) > 1
    assert turns.read[0] == in_between[0]
    assert len(set(turns.read)) == len(turns.read)


async def test_what_may_have_arrived_is_looked_for_and_not_sent_twice(turns: TurnBench) -> None:
    await asked(turns)
    turns.meta.fault_for(turns.contact.customer_id, Fault("cut", delivered=True))

    first, last = await turns.end(), await turns.end()

    assert (first, last) == (Waits("settling"), Ended(Outcome.ANSWERED))
    assert turns.read == ["Да, есть."]


async def test_looks_that_fail_are_counted_with_the_part(turns: TurnBench) -> None:
    await asked(turns)
    turns.meta.fault_for(turns.contact.customer_id, Fault("cut"))
    await turns.end()
    turns.meta.refuse_next(2, None, 500, on="reads")
    await turns.end()

    plan = await turns.plan()

    assert (plan["0:state"], plan["0:misses"], plan["0:failed_looks"]) == ("unknown", "0", "1")


async def test_an_account_that_rests_keeps_its_plan(turns: TurnBench) -> None:
    await asked(turns)
    turns.meta.refuse_next(2, 1545133, 500)
    await turns.end()
    await Parking(turns.scripts).park(ACCOUNT, "throttled", 60)

    parked = await turns.end()
    await Parking(turns.scripts).release(ACCOUNT)

    assert parked == Waits("throttled")
    assert await turns.end() == Ended(Outcome.ANSWERED)
    assert turns.read == ["Да, есть."]


async def test_an_edit_that_comes_when_a_send_proves_lost_begins_the_reply_anew(turns: TurnBench) -> None:
    class Edited(Conversations):
        """The customer's edit comes between the proof and the next look at the plan."""

        async def record(self, *which: Any, **facts: Any) -> PartState | None:
            stands = await super().record(*which, **facts)
            if stands == PartState.FAILED:
                await turns.edits("m", "А чашка?")
            return stands

    await asked(turns, "Да, есть.")
    turns.meta.fault_for(turns.contact.customer_id, Fault("cut"))
    await turns.end()
    plan = f"ns:c:{turns.cid}:plan"
    await turns.scripts.command("HSET", plan, "0:misses", 1, "0:at", turns.house.now_ms() - 60_000)

    end = await turns.end(turns.another(conversations=Edited(turns.scripts, turns.house.settings)))
    turns.answers("Чашка тоже есть.")
    again = await turns.end()

    assert str(end) == "nothing"
    assert again == Ended(Outcome.ANSWERED)
    assert turns.read == ["Чашка тоже есть."]


@pytest.mark.parametrize(("refusal", "is_delivered"), [(None, True), ((551, None, 400), False)])
async def test_only_a_reply_that_has_arrived_counts_as_delivered(
    turns: TurnBench, refusal: tuple[int, int | None, int] | None, is_delivered: bool
) -> None:
    await asked(turns)
    if refusal:
        turns.meta.refuse_next(*refusal)

    await turns.end()

    [turn] = (await read_records(turns.scripts, since_ms=0)).turns
    assert (turn.delivered_seconds is not None) is is_delivered
