"""A turn claims, plans, sends and finishes; it loses to newer words, to other turns and to humans."""

import pytest

from bot.conversation import HistoryLine, PartState, PlanMeta
from bot.incoming.events import Channel, Contact, CustomerMessage, Deletion, MessageKind
from bot.outcome import Outcome
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Conversations
from store.turns.decisions import AlreadyIn, ClaimRefusal, MaySend, NewsCame, NotClaimed, Overtaken, Planned
from store.turns.lease import LeaseLost
from tests.store.telling import arrives
from tests.store.turns.states import CONTACT, claim, echo, message, planned, state, sums

pytestmark = pytest.mark.anyio


async def test_a_poke_that_was_not_handed_out_claims_nothing(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message()])

    assert await Conversations(scripts, settings).claim(CONTACT.conversation_id) == NotClaimed(
        ClaimRefusal.NOT_HANDED_OUT
    )


async def test_one_poke_is_one_claim(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message()])
    await claim(scripts, settings)

    assert await Conversations(scripts, settings).claim(CONTACT.conversation_id) == NotClaimed(
        ClaimRefusal.NOT_HANDED_OUT
    )


async def test_the_quota_keeps_a_backlog_in_due(scripts: Scripts, settings: Settings) -> None:
    people = [Contact(Channel.INSTAGRAM, "17841400000000042", str(i)) for i in range(7)]
    await Inbox(scripts, settings).receive(
        [CustomerMessage(person, MessageKind.MESSAGE, f"m{i}", 1, "x") for i, person in enumerate(people)]
    )

    first = await Schedule(scripts).pop_due(limit=10, quota=5)
    second = await Schedule(scripts).pop_due(limit=10, quota=5)

    assert len(first.conversation_ids) == 5
    assert second.conversation_ids == ()


async def test_news_that_the_turn_has_not_read_stops_the_plan(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message()])
    lease, conversation = await claim(scripts, settings)
    await inbox.receive([message()])

    assert isinstance(await lease.plan(conversation, ["Ответ"], PlanMeta()), NewsCame)  # type: ignore[arg-type]
    fresh = await lease.reread()
    assert len(fresh.messages) == 2
    assert isinstance(await lease.plan(fresh, ["Ответ"], PlanMeta()), Planned)


async def test_what_came_during_the_turn_gathers_again_at_its_end(scripts: Scripts, settings: Settings) -> None:
    lease, _ = await planned(scripts, settings)
    await Inbox(scripts, settings).receive([message()])
    plan = (await lease.reread()).plan
    assert plan is not None

    await arrives(scripts, settings, lease, plan)
    await lease.finish(Outcome.ANSWERED, plan.keys, lines=[HistoryLine("bot", "Ответ", 1)])

    assert await sums(scripts) == {"received": 2, "answered": 1, "open": 1}
    assert (await state(scripts))["state"] == "gathering"


async def test_the_loser_of_a_lease_decides_nothing(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)
    await scripts.command("HSET", f"ns:c:{CONTACT.conversation_id}", "token", "somebody-else")

    assert not await lease.renew()
    for decision in (
        lease.begin_part(plan_id, 0, margin_seconds=1),
        lease.finish(Outcome.ANSWERED, []),
        lease.hold(1, "backoff"),
        lease.reread(),
    ):
        with pytest.raises(LeaseLost):
            await decision


async def test_a_fact_is_recorded_by_whoever_holds_it(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)
    conversations = Conversations(scripts, settings)
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await scripts.command("HSET", f"ns:c:{CONTACT.conversation_id}", "token", "somebody-else")

    stands = await conversations.record(CONTACT.conversation_id, plan_id, 0, PartState.SENT, mid="m-1")
    later = await conversations.record(CONTACT.conversation_id, plan_id, 0, PartState.FAILED, code="Throttled")

    assert (stands, later) == ("sent", "sent")


async def test_a_part_that_was_on_its_way_is_unknown_to_the_next_claim(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    # The lease runs out: its worker is gone.
    await scripts.command("HSET", f"ns:c:{CONTACT.conversation_id}", "lease_until", "1")
    await scripts.command("ZADD", "ns:due", 1, CONTACT.conversation_id)

    _, conversation = await claim(scripts, settings)

    assert conversation.plan.parts[0].state is PartState.UNKNOWN  # type: ignore[attr-defined]
    assert conversation.vanished == 1  # type: ignore[attr-defined]
    assert conversation.failures == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("by", ["text", "metadata", "mid"])
async def test_our_own_echo_proves_a_part(scripts: Scripts, settings: Settings, by: str) -> None:
    lease, plan_id = await planned(scripts, settings, "Да, есть две.")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    if by == "mid":
        await Conversations(scripts, settings).record(CONTACT.conversation_id, plan_id, 0, PartState.SENT, mid="m-1")
    arrived = {
        "text": echo("m-1", "да,  есть две."),
        "metadata": echo("m-1", "Something else", metadata=f"ns:{plan_id}:0"),
        "mid": echo("m-1", "Changed by Meta"),
    }[by]

    await Inbox(scripts, settings).receive([arrived])

    plan = (await lease.reread()).plan
    assert plan is not None
    assert plan.parts[0].state is PartState.SENT


async def test_an_echo_forty_seconds_late_is_still_ours(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await Conversations(scripts, settings).record(CONTACT.conversation_id, plan_id, 0, PartState.SENT, mid="m-1")
    plan = (await lease.reread()).plan
    assert plan is not None
    await lease.finish(Outcome.ANSWERED, plan.keys)

    await Inbox(scripts, settings).receive([echo("m-1", "Ответ")])

    assert "takeover_until" not in await state(scripts)


async def test_a_humans_words_take_the_lease_and_drop_the_draft(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)

    await Inbox(scripts, settings).receive([echo("h-1", "Здравствуйте, это Мария")])

    with pytest.raises(LeaseLost):
        await lease.begin_part(plan_id, 0, margin_seconds=1)
    assert (await state(scripts))["hold_reason"] == "human"
    assert await sums(scripts) == {"received": 1, "open": 1}


async def test_a_humans_later_words_close_what_waited_for_them(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message(), echo("h-1", "Минуту"), message(), echo("h-2", "Вот ответ")])

    assert await sums(scripts) == {"received": 2, "silenced": 2}
    assert (await state(scripts))["state"] == "rest"


async def test_the_bot_answers_what_no_human_answered(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([echo("h-1", "Минуту"), message()])
    schedule = Schedule(scripts)

    due = await schedule.pop_due(limit=1, quota=1)
    assert due.conversation_ids == ()
    assert due.next_in_seconds is not None
    await schedule.wait(due.next_in_seconds)

    _, conversation = await claim(scripts, settings)
    assert [line.role for line in conversation.history] == ["business"]  # type: ignore[attr-defined]


async def test_a_human_between_two_parts_drops_the_rest_only(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings, "Раз", "Два")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    await Conversations(scripts, settings).record(CONTACT.conversation_id, plan_id, 0, PartState.SENT, mid="m-1")

    await Inbox(scripts, settings).receive([echo("h-1", "Дальше я")])

    assert await lease.begin_part(plan_id, 1, margin_seconds=1) == AlreadyIn(PartState.DROPPED)


@pytest.mark.parametrize("end", ["replaced", "finished", "dropped", "not_found"])
async def test_a_late_echo_of_words_that_may_have_arrived_is_no_humans(
    scripts: Scripts, settings: Settings, end: str
) -> None:
    lease, plan_id = await planned(scripts, settings, "Да, есть две.")
    await lease.begin_part(plan_id, 0, margin_seconds=1)
    conversations = Conversations(scripts, settings)
    await conversations.record(CONTACT.conversation_id, plan_id, 0, PartState.UNKNOWN)
    conversation = await lease.reread()
    assert conversation.plan is not None
    match end:
        case "replaced":
            await lease.plan(conversation, ["Дальше поможет коллега."], PlanMeta(), whatever_came=True)
        case "finished":
            await lease.finish(Outcome.UNDELIVERABLE, conversation.plan.keys)
        case "dropped":
            await lease.hold(0, "released", drop_plan=True)
        case "not_found":
            await conversations.record(CONTACT.conversation_id, plan_id, 0, PartState.FAILED, code="not_found")

    await Inbox(scripts, settings).receive([echo("m-late", "Да, есть две.")])

    assert "takeover_until" not in await state(scripts)


async def test_a_part_that_is_on_its_way_is_not_begun_again(scripts: Scripts, settings: Settings) -> None:
    lease, plan_id = await planned(scripts, settings)

    first = await lease.begin_part(plan_id, 0, margin_seconds=1)
    second = await lease.begin_part(plan_id, 0, margin_seconds=1)

    assert (first, second) == (MaySend(), AlreadyIn(PartState.UNKNOWN))


async def test_a_message_taken_back_before_anything_was_sent_is_not_answered(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a")])
    lease, conversation = await claim(scripts, settings)
    await lease.plan(conversation, ["Ответ"], PlanMeta())  # type: ignore[arg-type]
    plan = (await lease.reread()).plan
    assert plan is not None

    await inbox.receive([Deletion(CONTACT, "a", 1)])

    assert await sums(scripts) == {"received": 1, "silenced": 1}
    assert await lease.begin_part(plan.id, 0, margin_seconds=1) == Overtaken()


async def test_a_plan_of_a_newer_version_is_read_as_far_as_we_know_it(scripts: Scripts, settings: Settings) -> None:
    lease, _ = await planned(scripts, settings)
    key = f"ns:c:{CONTACT.conversation_id}:plan"
    meta = await scripts.command("HGET", key, "meta")
    await scripts.command("HSET", key, "meta", meta.replace("{", '{"from_the_future":[1],', 1))

    plan = (await lease.reread()).plan

    assert plan is not None
    assert plan.meta == PlanMeta()
