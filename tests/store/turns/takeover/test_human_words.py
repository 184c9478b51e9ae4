"""A human's words before, during and after a turn, and while parts are on their way."""

import pytest

from bot.conversation import PartState, PlanMeta
from bot.outcome import Deferral, Outcome
from store.turns.decisions import AlreadyIn, MaySend
from store.turns.lease import LeaseLost
from tests.store.turns.takeover.bench import Bench, human, message

pytestmark = pytest.mark.anyio


async def test_words_before_a_turn_defer_what_is_open(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1"))

    assert await bench.due() == ()
    assert (await bench.field("state"), await bench.field("hold_reason")) == ("held", "human")
    assert await bench.sums() == {"received": 1, "open": 1}
    assert await bench.history() == [("business", "Здравствуйте, это Мария")]


async def test_words_during_a_turn_take_its_lease_before_it_can_plan(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, conversation = await bench.claim()

    await bench.receive(human("h1"))

    with pytest.raises(LeaseLost):
        await lease.plan(conversation, ["Ответ"], PlanMeta())
    assert await bench.field("hold_reason") == "human"


async def test_words_after_a_turn_keep_the_bot_out_of_what_comes_next(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Ответ")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.record(plan_id, 0, PartState.SENT, "our-1")
    plan = (await lease.reread()).plan
    assert plan is not None
    await lease.finish(Outcome.ANSWERED, plan.keys)

    await bench.receive(human("h1"), message("m2"))

    assert await bench.due() == ()
    assert await bench.field("hold_reason") == "human"
    assert await bench.sums() == {"received": 2, "answered": 1, "open": 1}


async def test_words_that_come_while_it_is_held_close_it_and_both_sides_are_remembered(bench: Bench) -> None:
    await bench.receive(message("m1", "Есть синяя?"), human("h1", "Минуту"))
    await bench.receive(message("m2", "", notes=("[photo]",)), human("h2", "Да, есть"))

    assert await bench.sums() == {"received": 2, "silenced": 2}
    assert set(await bench.silences()) == {"human_answered"}
    assert await bench.history() == [
        ("business", "Минуту"),
        ("customer", "Есть синяя?"),
        ("customer", "[photo]"),
        ("business", "Да, есть"),
    ]


@pytest.mark.parametrize("reason", [Deferral.HUMANS_FIRST, Deferral.OFF_DUTY])
async def test_the_first_words_answer_what_was_left_to_people(bench: Bench, reason: Deferral) -> None:
    await bench.receive(message("m1"))
    lease, _ = await bench.claim()
    await lease.hold(600, reason)

    await bench.receive(human("h1"))

    assert await bench.sums() == {"received": 1, "silenced": 1}
    assert await bench.silences() == ["human_answered"]


async def test_a_backoff_is_no_deferral_and_the_first_words_only_defer(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Ответ")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.record(plan_id, 0, PartState.FAILED)
    await lease.hold(30, Deferral.BACKOFF)

    await bench.receive(human("h1"))

    assert await bench.sums() == {"received": 1, "open": 1}
    assert await bench.field("hold_reason") == "human"
    assert await bench.parts() == []


async def test_with_a_part_sent_the_rest_is_dropped_and_the_turn_may_finish(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Раз", "Два", "Три")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.record(plan_id, 0, PartState.SENT, "our-1")

    await bench.receive(human("h1"), message("m2"))

    assert await bench.parts() == ["sent", "dropped", "dropped"]
    plan = (await lease.reread()).plan
    assert plan is not None
    await lease.finish(Outcome.ANSWERED, plan.keys, why="cut")
    assert await bench.sums() == {"received": 2, "answered": 1, "open": 1}
    assert await bench.field("hold_reason") == "human"


async def test_an_unknown_part_that_was_not_sent_is_not_sent_over_a_humans_words(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Ответ")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.record(plan_id, 0, PartState.UNKNOWN)

    await bench.receive(human("h1", "Другое"))
    assert await bench.parts() == ["unknown"]
    await bench.record(plan_id, 0, PartState.FAILED)

    assert await lease.begin_part(plan_id, 0, margin_seconds=1) == AlreadyIn(PartState.DROPPED)


async def test_our_echo_before_the_call_returns_is_no_human(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Ответ")
    await lease.begin_part(plan_id, 0, margin_seconds=1)

    await bench.receive(human("our-1", "Ответ"))
    await bench.record(plan_id, 0, PartState.SENT, "our-1")

    assert await bench.parts() == ["sent"]
    assert await bench.field("takeover_until") == ""


async def test_our_echo_with_words_changed_by_meta_is_no_human_once_its_id_is_known(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Смотрите example.com", "Вторая часть")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.receive(human("our-1", "Смотрите https://l.example.invalid/?u=example.com"))
    assert await bench.parts() == ["sending", "dropped"]

    await bench.record(plan_id, 0, PartState.SENT, "our-1")

    assert await bench.parts() == ["sent", "planned"]
    assert await bench.field("takeover_until") == ""
    assert await bench.history() == []
    assert await lease.begin_part(plan_id, 1, margin_seconds=1) == MaySend()


@pytest.mark.parametrize("order", [("h1", "our-1"), ("our-1", "h1")])
async def test_a_human_beside_our_changed_echo_still_takes_over(bench: Bench, order: tuple[str, str]) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Раз", "Два")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.receive(*(human(mid, f"Слова {mid}") for mid in order))

    await bench.record(plan_id, 0, PartState.SENT, "our-1")

    assert await lease.begin_part(plan_id, 1, margin_seconds=1) == AlreadyIn(PartState.DROPPED)


async def test_a_human_who_writes_while_a_part_is_on_its_way_is_a_human(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Раз", "Два")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.receive(human("h1", "Дальше я"))

    await bench.record(plan_id, 0, PartState.SENT, "our-1")

    assert await bench.parts() == ["sent", "dropped"]
    assert await bench.field("doubted") == ""
    assert await lease.begin_part(plan_id, 1, margin_seconds=1) == AlreadyIn(PartState.DROPPED)


async def test_the_same_words_typed_by_a_human_are_a_humans(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, plan_id = await bench.planned("Здравствуйте!")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await bench.record(plan_id, 0, PartState.SENT, "our-1")
    plan = (await lease.reread()).plan
    assert plan is not None
    await lease.finish(Outcome.ANSWERED, plan.keys)

    await bench.receive(human("h1", "Здравствуйте!"))

    assert int(await bench.field("takeover_until")) > 0


async def test_a_humans_picture_is_remembered_by_its_name(bench: Bench) -> None:
    await bench.receive(human("h1", "", notes=("[photo]",)))

    assert await bench.history() == [("business", "[photo]")]


async def test_a_talkative_human_does_not_fill_the_memory(bench: Bench) -> None:
    await bench.receive(*(human(f"h{i}", f"{i}") for i in range(100)))

    kept = await bench.history()
    assert len(kept) == 60
    assert kept[-1] == ("business", "99")
