"""People and the bot in one conversation: who has it, until when, and what is remembered of their words."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from bot.conversation import Conversation, HistoryLine, PartState, PlanMeta
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerMessage,
    Deletion,
    Echo,
    Event,
    MessageKind,
    Noted,
    ThreadControl,
)
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.clock import now_ms
from runtime.settings import Account, Settings, Shift, ShiftOverride
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import AlreadyIn, MaySend, Planned
from store.turns.lease import Lease, LeaseLost
from tests.store.telling import answered

pytestmark = pytest.mark.anyio

INSTAGRAM = "17841400000000042"
CONTACT = Contact(Channel.INSTAGRAM, INSTAGRAM, "9001000000000123")
OUR_APP = "555000111222333"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = settings.config.model_copy(update={"shift": Shift(takeover_minutes=60)})
    return settings.model_copy(update={"config": config})


def message(mid: str, text: str = "Вопрос", *, at_ms: int | None = None, **more: object) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, at_ms or now_ms(), text, **more)  # type: ignore[arg-type]


def human(mid: str, text: str = "Здравствуйте, это Мария", *, at_ms: int | None = None, **more: object) -> Echo:
    return Echo(CONTACT, mid, at_ms or now_ms(), text, **more)  # type: ignore[arg-type]


def control(kind: str, owner: str | None, *, at_ms: int | None = None) -> ThreadControl:
    return ThreadControl(CONTACT, kind, at_ms or now_ms(), owner)


class Bench:
    """One conversation and the two sides of Redis."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self.scripts = scripts
        self.settings = settings
        self.conversations = Conversations(scripts, settings)
        self.schedule = Schedule(scripts)
        self.inbox = Inbox(scripts, settings)

    async def receive(self, *events: Event) -> None:
        await self.inbox.receive(events)

    async def due(self) -> tuple[str, ...]:
        return tuple((await self.schedule.pop_due(limit=10, quota=10)).conversation_ids)

    async def claim(self) -> tuple[Lease, Conversation]:
        await self.due()
        claimed = await self.conversations.claim(CONTACT.conversation_id)
        assert isinstance(claimed, Claimed), claimed
        return claimed.lease, claimed.conversation

    async def planned(self, *texts: str, discloses: bool = False) -> tuple[Lease, str]:
        lease, conversation = await self.claim()
        assert isinstance(await lease.plan(conversation, texts, PlanMeta(discloses=discloses)), Planned)
        plan = (await lease.reread()).plan
        assert plan is not None
        return lease, plan.id

    async def record(self, plan_id: str, part: int, state: PartState, mid: str = "") -> None:
        await self.conversations.record(CONTACT.conversation_id, plan_id, part, state, mid=mid)

    async def parts(self) -> list[str]:
        plan = await self.scripts.command("HGETALL", f"ns:c:{CONTACT.conversation_id}:plan")
        fields = dict(plan)
        return [fields[f"{i}:state"] for i in range(int(fields.get("n", 0)))]

    async def field(self, name: str) -> str:
        return str(await self.scripts.command("HGET", f"ns:c:{CONTACT.conversation_id}", name) or "")

    async def history(self) -> list[tuple[str, str]]:
        rows = await self.scripts.command("LRANGE", f"ns:c:{CONTACT.conversation_id}:history", 0, -1)
        return [(line["role"], line["text"]) for line in map(orjson.loads, rows)]

    async def sums(self) -> dict[str, int]:
        books = await Ledger(self.scripts).sums()
        assert books.balanced
        names = ("received", "answered", "handed_over", "silenced", "undeliverable", "expired", "open")
        return {name: getattr(books, name) for name in names if getattr(books, name)}

    async def silences(self) -> list[str]:
        rows: Sequence[tuple[str, dict[str, str]]] = await self.scripts.client.xrange("ns:ledger")  # type: ignore[assignment]
        return [fields["w"] for _, fields in rows if fields["e"] == "silenced"]


@pytest.fixture
def bench(scripts: Scripts, settings: Settings) -> Bench:
    return Bench(scripts, settings)


# An echo without anything in it.


async def test_an_echo_without_anything_in_it_takes_nothing_over(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", ""), human("h2", " \u200b"))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""
    assert await bench.history() == []
    assert await bench.scripts.command("HGET", "ns:events", "empty_echo") == "2"
    assert await bench.scripts.command("HGET", "ns:events", "foreign_echo") is None


@pytest.mark.parametrize(
    "more", [{"notes": ("[unsupported message]",)}, {"notes": ("[photo]",), "attached": ("image",)}]
)
async def test_what_a_human_sends_without_words_is_a_humans(bench: Bench, more: Any) -> None:
    await bench.receive(message("m1"), human("h1", "", **more))

    assert await bench.due() == ()
    assert await bench.field("hold_reason") == "human"


async def test_an_empty_echo_whose_words_are_told_of_later_counts_then(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", ""))

    await bench.receive(human("h1", "Здравствуйте, это Мария"))

    assert await bench.field("hold_reason") == "human"


async def test_an_empty_echo_that_was_read_back_takes_nothing_over(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "", found="look_back"))

    assert await bench.field("takeover_until") == ""


# Our account's words before the customer's first ones: an ad's greeting, or a human who begins.

CARD = {"text": "", "notes": ("[card: Здравствуйте!]",), "attached": ("template",)}


def greeting(mid: str, at_ms: int, **more: object) -> Echo:
    return Echo(CONTACT, mid, at_ms, **{**CARD, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [{}, {"text": "Здравствуйте!", "notes": (), "attached": ()}])
async def test_a_greeting_right_before_the_first_words_does_not_keep_the_bot_out(
    bench: Bench, words: dict[str, object]
) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 700, **words))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""
    assert [role for role, _ in await bench.history()] == ["business"]
    assert await bench.scripts.command("HGET", "ns:events", "automatic_greeting") == "1"


async def test_a_greeting_of_two_parts_is_one(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 900), greeting("g2", now - 800), message("m1", at_ms=now))

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_a_greeting_whose_webhook_comes_after_the_first_words_does_not_either(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now))

    await bench.receive(greeting("g1", now - 700))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""


async def test_a_greeting_that_was_read_back_does_not_either(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now), greeting("g1", now - 700, found="look_back"))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert [role for role, _ in await bench.history()] == ["business"]


async def test_a_human_who_begins_keeps_the_conversation(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", "Вы вчера спрашивали о зале: он свободен", at_ms=now - 120_000))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.due() == ()
    assert await bench.field("hold_reason") == "human"


async def test_a_human_who_goes_on_writing_until_the_answer_comes_keeps_it_as_well(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", at_ms=now - 120_000), human("h2", "Ждём вас", at_ms=now - 2000))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_humans_words_late_told_of_do_not_become_a_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", at_ms=now - 120_000), message("m1", at_ms=now))

    await bench.receive(greeting("h2", now - 2000))

    assert await bench.silences() == ["human_answered"]
    assert await bench.field("takeover_until")  # was_greeted would have taken it away


async def test_words_in_a_conversation_that_has_had_words_are_no_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now - 600_000))
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation)
    await bench.receive(human("h1", at_ms=now - 700))

    await bench.receive(message("m2", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_thread_that_people_take_is_not_given_back_by_a_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 900), control("take", "999"))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_greeting_without_words_after_it_is_kept_no_longer_than_anything(bench: Bench) -> None:
    await bench.receive(greeting("g1", now_ms()))

    keys = await bench.scripts.command("KEYS", f"ns:c:{CONTACT.conversation_id}*")
    assert keys
    assert all([await bench.scripts.command("PTTL", key) > 0 for key in keys])


# Another app gets all new threads.


def stranger(
    number: int, *, closed_as: SilenceReason | None = SilenceReason.STANDBY, **more: object
) -> CustomerMessage:
    contact = Contact(Channel.INSTAGRAM, INSTAGRAM, f"900100000000{number:04d}")
    mid = str(more.pop("mid", f"s{number}"))
    return CustomerMessage(contact, MessageKind.MESSAGE, mid, now_ms(), "?", closed_as=closed_as)


async def standby_alerts(bench: Bench) -> list[str]:
    return [name for name in await bench.scripts.command("HKEYS", "ns:alerts") if name.endswith(":standby")]


async def test_customers_heard_only_on_standby_are_told_of_once(bench: Bench) -> None:
    for number in range(12):
        await bench.receive(stranger(number), stranger(number, mid=f"again{number}"))

    assert await standby_alerts(bench) == [f"account:instagram:{INSTAGRAM}:standby"]
    assert await bench.scripts.command("HGET", "ns:events", "alert") == "1"
    assert await bench.sums() == {"received": 24, "silenced": 24}


async def test_one_customer_on_standby_is_no_reason(bench: Bench) -> None:
    for number in range(20):
        await bench.receive(stranger(1, mid=f"again{number}"))

    assert await standby_alerts(bench) == []


async def test_standby_beside_customers_who_write_directly_is_no_reason(bench: Bench) -> None:
    for number in range(0, 20, 2):
        await bench.receive(stranger(number), stranger(number + 1, closed_as=None))

    assert await standby_alerts(bench) == []


async def test_threads_that_people_have_taken_are_no_reason(bench: Bench) -> None:
    for number in range(12):
        contact = stranger(number).contact
        await bench.receive(ThreadControl(contact, "take", now_ms(), "999"), stranger(number))

    assert await standby_alerts(bench) == []


async def test_who_changes_between_the_two_is_not_told_each_time(bench: Bench) -> None:
    for number in range(0, 40, 4):
        await bench.receive(*(stranger(number + n) for n in range(3)), stranger(number + 3, closed_as=None))

    assert await bench.scripts.command("HGET", "ns:events", "standby_alone") == "10"
    assert await bench.scripts.command("HGET", "ns:events", "alert") == "1"


# A human's words before, during and after a turn.


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


# Parts on their way.


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


# Meta's automatic replies.


def with_auto_replies(settings: Settings, seconds: float) -> Settings:
    shift = Shift(takeover_minutes=60, ignore_auto_replies_seconds=seconds)
    return settings.model_copy(update={"config": settings.config.model_copy(update={"shift": shift})})


@pytest.mark.parametrize(("after_ms", "is_automatic"), [(0, True), (4999, True), (5000, False), (-1, False)])
async def test_an_echo_right_after_the_customers_words_is_metas_own(
    scripts: Scripts, settings: Settings, after_ms: int, is_automatic: bool
) -> None:
    bench, at_ms = Bench(scripts, with_auto_replies(settings, 5)), now_ms()

    await bench.receive(message("m1", at_ms=at_ms), human("auto", "Спасибо, мы ответим", at_ms=at_ms + after_ms))

    assert (await bench.due() != ()) is is_automatic
    assert (await bench.field("takeover_until") == "") is is_automatic
    assert ("business", "Спасибо, мы ответим") in await bench.history()


async def test_nobody_is_taken_for_an_automaton_unless_configured(bench: Bench) -> None:
    at_ms = now_ms()
    await bench.receive(message("m1", at_ms=at_ms), human("h1", at_ms=at_ms))

    assert await bench.due() == ()


# Routing.


@pytest.mark.parametrize(
    ("event", "held"),
    [
        (control("take", "263902037430900"), True),
        (control("take", None), True),
        (control("take", OUR_APP), False),
        (control("pass", "263902037430900"), True),
        (control("pass", OUR_APP), False),
        (control("pass", None), False),
    ],
)
async def test_a_thread_that_another_app_has_is_deferred(bench: Bench, event: ThreadControl, held: bool) -> None:
    await bench.receive(message("m1"), event)

    assert (await bench.due() == ()) is held
    assert await bench.sums() == {"received": 1, "open": 1}


async def test_without_our_apps_id_a_pass_is_to_us_and_a_take_from_us(scripts: Scripts, settings: Settings) -> None:
    env = settings.env.model_copy(update={"meta_app_id": ""})
    bench = Bench(scripts, settings.model_copy(update={"env": env}))

    await bench.receive(message("m1"), control("take", "1"))
    assert await bench.due() == ()
    await bench.receive(control("pass", "2"))

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_a_thread_passed_back_ends_the_deferral_now(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "Минуту"))

    await bench.receive(control("pass", OUR_APP))

    lease, conversation = await bench.claim()
    assert conversation.takeover_until_ms == 0
    assert [m.text for m in conversation.messages] == ["Вопрос"]
    assert lease


async def test_taking_a_thread_that_is_held_answers_nothing(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "Минуту"), control("take", "263902037430900"))

    assert await bench.sums() == {"received": 1, "open": 1}


async def test_control_that_comes_twice_counts_once(bench: Bench) -> None:
    taken = control("take", "1")
    await bench.receive(message("m1"), taken, control("pass", OUR_APP))

    await bench.receive(taken)

    assert await bench.due() == (CONTACT.conversation_id,)


# Standby.


@pytest.mark.parametrize("reopens", [True, False])
async def test_a_standby_copy_does_not_swallow_the_message_itself(bench: Bench, reopens: bool) -> None:
    copy, normal = message("m1", closed_as=SilenceReason.STANDBY), message("m1")
    first, second = (copy, normal) if reopens else (normal, copy)

    await bench.receive(first)
    await bench.receive(second)
    await bench.receive(copy, normal)

    assert await bench.sums() == {"received": 1, "open": 1}
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation)
    assert await bench.sums() == {"received": 1, "answered": 1}


async def test_a_standby_copy_alone_ends_as_standby_once(bench: Bench) -> None:
    copy = message("m1", closed_as=SilenceReason.STANDBY)

    await bench.receive(copy, copy)

    assert await bench.sums() == {"received": 1, "silenced": 1}


async def test_a_deletion_that_overtakes_its_message_silences_it(bench: Bench) -> None:
    await bench.receive(Deletion(CONTACT, "m1", now_ms()), message("m1"))

    assert await bench.sums() == {"received": 1, "silenced": 1}
    assert await bench.silences() == ["deleted"]


# Disclosure.


async def test_after_a_humans_words_the_bot_discloses_again(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation, fields={"disclosed": "1"})

    await bench.receive(human("h1"), control("pass", OUR_APP), message("m2"))

    _, conversation = await bench.claim()
    assert not conversation.disclosed
    assert conversation.history[-1] == HistoryLine(
        "business", "Здравствуйте, это Мария", conversation.history[-1].at_ms
    )


# Accounts.


async def test_each_account_has_its_own_patience(scripts: Scripts, settings: Settings) -> None:
    accounts = (
        Account(channel=Channel.INSTAGRAM, id=INSTAGRAM, shift=ShiftOverride(takeover_minutes=0)),
        Account(channel=Channel.MESSENGER, id=INSTAGRAM),
    )
    config = settings.config.model_copy(update={"accounts": accounts})
    bench = Bench(scripts, settings.model_copy(update={"config": config}))
    other = Contact(Channel.MESSENGER, INSTAGRAM, CONTACT.customer_id)

    await bench.receive(message("m1"), human("h1"))
    await bench.receive(
        CustomerMessage(other, MessageKind.MESSAGE, "m2", now_ms(), "?"), Echo(other, "h2", now_ms(), "?")
    )

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_an_unknown_account_is_told_of_once(bench: Bench) -> None:
    for _ in range(3):
        await bench.receive(Noted("unknown_account", "999"))
    await bench.receive(Noted("unknown_account", "888"))

    alerts = await bench.scripts.command("HGETALL", "ns:alerts")
    assert {name: orjson.loads(body)["count"] for name, body in dict(alerts).items()} == {
        "system:unknown_account:999": 1,
        "system:unknown_account:888": 1,
    }
    assert await bench.scripts.command("HGET", "ns:events", "unknown_account") == "4"
