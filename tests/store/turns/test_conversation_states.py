"""The state machine in Lua against a real server: each change, and the invariants that hold after any of them."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bot.conversation import HistoryLine, PartState, PlanMeta
from bot.debounce import due_at_ms
from bot.incoming.events import Channel, Contact, CustomerMessage, Deletion, Echo, Edit, MessageKind, Noted
from bot.outcome import Outcome, SilenceReason
from runtime.clock import now_ms
from runtime.embedded import EmbeddedValkey
from runtime.settings import Debounce, Settings
from sandbox.patience import PATIENCE_SECONDS
from store.connection import connect
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import AlreadyIn, ClaimRefusal, MaySend, NewsCame, NotClaimed, Overtaken, Planned
from store.turns.lease import Lease, LeaseLost, OutcomeRefused
from tests.store.telling import arrives

pytestmark = pytest.mark.anyio
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
_numbers = itertools.count()


def message(mid: str | None = None, **more: object) -> CustomerMessage:
    mid = mid or f"mid-{next(_numbers)}"
    values: dict[str, object] = {"text": "Привет", "at_ms": now_ms(), **more}
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, **values)  # type: ignore[arg-type]


def echo(mid: str, text: str = "", **more: object) -> Echo:
    return Echo(CONTACT, mid, now_ms(), text, **more)  # type: ignore[arg-type]


async def claim(scripts: Scripts, settings: Settings) -> tuple[Lease, object]:
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease, claimed.conversation


async def planned(scripts: Scripts, settings: Settings, *texts: str) -> tuple[Lease, str]:
    """A lease on a conversation with one open message and a plan of `texts`; the plan's id."""
    await Inbox(scripts, settings).receive([message()])
    lease, conversation = await claim(scripts, settings)
    assert isinstance(await lease.plan(conversation, texts or ("Ответ",), PlanMeta()), Planned)  # type: ignore[arg-type]
    plan = (await lease.reread()).plan
    assert plan is not None
    return lease, plan.id


async def state(scripts: Scripts) -> dict[str, str]:
    flat = await scripts.command("HGETALL", f"ns:c:{CONTACT.conversation_id}")
    return dict(flat)


async def sums(scripts: Scripts) -> dict[str, int]:
    books = await Ledger(scripts).sums()
    assert books.balanced
    return {
        name: value
        for name, value in books.as_json().items()
        if value and name not in ("balanced", "oldest_open_seconds")
    }


async def test_a_repeated_message_is_stored_once(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)

    await inbox.receive([message("a"), message("a")])
    await inbox.receive([message("a")])

    assert await sums(scripts) == {"received": 1, "open": 1}


async def test_a_deletion_carries_the_mid_of_its_message_and_is_no_duplicate(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a"), message("b")])

    await inbox.receive([Deletion(CONTACT, "a", 1)])

    assert await sums(scripts) == {"received": 2, "silenced": 1, "open": 1}


async def test_taking_back_the_only_message_lets_the_conversation_rest(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a")])

    await inbox.receive([Deletion(CONTACT, "a", 1)])

    assert (await state(scripts))["state"] == "rest"
    assert (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids == ()


async def test_an_edit_changes_the_words_that_wait(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a", text="синяя?", notes=("[photo]",), at_ms=1790000000501)])

    await inbox.receive([Edit(CONTACT, "a", 1, 'красная "или" \\ нет? 😊', 1)])

    _, conversation = await claim(scripts, settings)
    [waiting] = conversation.messages  # type: ignore[attr-defined]
    assert waiting.text == 'красная "или" \\ нет? 😊'
    assert waiting.notes == ("[photo]",)
    assert waiting.at_ms == 1790000000501


async def test_what_needs_no_answer_is_closed_as_it_comes(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(closed_as=SilenceReason.STANDBY), Noted("read")])

    assert await sums(scripts) == {"received": 1, "silenced": 1}


async def test_a_flood_is_capped_and_recorded(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message() for _ in range(230)])

    assert await sums(scripts) == {"received": 230, "silenced": 30, "open": 200}


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


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.integers(0, 60), min_size=1, max_size=6), quiet=st.integers(0, 80), cap=st.integers(0, 200))
def test_lua_and_python_agree_on_when_a_burst_is_over(
    valkey: EmbeddedValkey, settings: Settings, gaps: list[int], quiet: int, cap: int
) -> None:
    debounce = Debounce(quiet_seconds=quiet / 1000, max_wait_seconds=cap / 1000)
    config = settings.config.model_copy(update={"debounce": debounce})

    async def run(scripts: Scripts) -> None:
        inbox = Inbox(scripts, settings.model_copy(update={"config": config}))
        for gap in gaps:
            await inbox.receive([message()])
            await asyncio.sleep(gap / 10_000)
        received = [
            int(entry.split(" ")[1])
            for entry in await scripts.command("LRANGE", f"ns:c:{CONTACT.conversation_id}:inbox", 0, -1)
        ]
        due = float(await scripts.command("ZSCORE", "ns:due", CONTACT.conversation_id))
        assert due == due_at_ms(first_ms=received[0], last_ms=received[-1], quiet_ms=quiet, cap_ms=cap)

    asyncio.run(on_an_empty_server(valkey, run))


STEPS = st.sampled_from(
    [
        "message",
        "duplicate",
        "echo",
        "own_echo",
        "edit",
        "delete",
        "standby",
        "pop",
        "claim",
        "plan",
        "plan_anyway",
        "begin",
        "sent",
        "unknown",
        "failed",
        "finish",
        "hand_over",
        "hold",
        "drop",
        "vanish",
        "wait",
    ]
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=40))
def test_the_books_balance_after_every_step_of_any_life(
    valkey: EmbeddedValkey, settings: Settings, steps: list[str]
) -> None:
    asyncio.run(on_an_empty_server(valkey, lambda scripts: _live(scripts, settings, steps)))


async def on_an_empty_server(valkey: EmbeddedValkey, work: Callable[[Scripts], Awaitable[None]]) -> None:
    """Closed also when an assertion fails, or its open sockets would be the failure that is shown."""
    client = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    try:
        await client.flushall()
        await work(Scripts(client))
    finally:
        await client.aclose()


async def _live(scripts: Scripts, settings: Settings, steps: list[str]) -> None:
    inbox, conversations, schedule = Inbox(scripts, settings), Conversations(scripts, settings), Schedule(scripts)
    cid = CONTACT.conversation_id
    lease: Lease | None = None
    for number, step in enumerate(steps):
        plan = None
        if lease is not None:
            try:
                plan = (await lease.reread()).plan
            except LeaseLost:
                lease = None
        match step:
            case "message":
                await inbox.receive([message(f"m{number}")])
            case "duplicate":
                await inbox.receive([message("m0")])
            case "standby":
                await inbox.receive([message(f"s{number}", closed_as=SilenceReason.STANDBY)])
            case "echo":
                await inbox.receive([echo(f"h{number}", f"human {number}")])
            case "own_echo":
                await inbox.receive([echo(f"o{number}", "Ответ")])
            case "edit":
                await inbox.receive([Edit(CONTACT, "m0", 1, "edited", number + 1)])
            case "delete":
                await inbox.receive([Deletion(CONTACT, f"m{number // 2}", 1)])
            case "pop":
                await schedule.pop_due(limit=10, quota=10)
            case "claim":
                claimed = await conversations.claim(cid)
                lease = claimed.lease if isinstance(claimed, Claimed) else lease
            case "vanish":
                await scripts.command("HSET", f"ns:c:{cid}", "lease_until", "1")
                await scripts.command("ZADD", "ns:due", "XX", 1, cid)
                await schedule.pop_due(limit=10, quota=10)
            case "wait":
                await scripts.command("ZADD", "ns:due", "XX", 1, cid)
            case "plan" | "plan_anyway" if lease:
                await lease.plan(
                    await lease.reread(), ["Ответ", "Ещё"], PlanMeta(), whatever_came=step == "plan_anyway"
                )
            case "begin" if lease and plan:
                await lease.begin_part(plan.id, number % 2, margin_seconds=0.1)
            case "sent" | "unknown" | "failed" if plan:
                await conversations.record(
                    cid, plan.id, number % 2, PartState(step), mid=f"r{number}" if step == "sent" else ""
                )
            case "finish" | "hand_over" if lease:
                keys = plan.keys if plan else ()
                with contextlib.suppress(OutcomeRefused):  # nothing has arrived
                    await lease.finish(Outcome.ANSWERED if step == "finish" else Outcome.HANDED_OVER, keys)
                    lease = None
            case "hold" | "drop" if lease:
                await lease.hold(0, "backoff", failed=True, drop_plan=step == "drop")
                lease = None
        await assert_sound(scripts, cid)


async def assert_sound(scripts: Scripts, cid: str) -> None:
    """Books balanced; open messages and the inbox are the same; whoever has an open message or a plan is due."""
    assert (await Ledger(scripts).sums()).balanced
    inbox = {entry.split(" ")[2] for entry in await scripts.command("LRANGE", f"ns:c:{cid}:inbox", 0, -1)}
    waiting = {member.split(" ")[1] for member in await scripts.command("ZRANGE", "ns:open", 0, -1)}
    assert inbox == waiting
    conversation = dict(await scripts.command("HGETALL", f"ns:c:{cid}"))
    due = await scripts.command("ZSCORE", "ns:due", cid)
    if inbox:
        assert due is not None
        assert conversation["state"] in ("gathering", "held", "leased")
    if conversation.get("state") == "rest":
        assert due is None
    if conversation.get("state") == "leased":
        assert conversation["token"]


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


async def test_retention_begins_when_nothing_is_open_and_ends_with_the_next_word(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    keys = [f"ns:c:{CONTACT.conversation_id}{part}" for part in ("", ":seen", ":history")]
    lease, _ = await planned(scripts, settings)
    open_ttls = [await scripts.command("PTTL", key) for key in keys[:2]]
    plan = (await lease.reread()).plan
    assert plan is not None
    await arrives(scripts, settings, lease, plan)
    await lease.finish(Outcome.ANSWERED, plan.keys, lines=[HistoryLine("bot", "Ответ", 1)])
    closed_ttls = [await scripts.command("PTTL", key) for key in keys]
    await inbox.receive([message()])
    reopened_ttls = [await scripts.command("PTTL", key) for key in keys]

    assert open_ttls == [-1, -1]
    assert all(ttl > 100 * 86_400_000 for ttl in closed_ttls)
    assert reopened_ttls == [-1, -1, -1]
