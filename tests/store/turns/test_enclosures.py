"""What follows the words of a plan, as Redis keeps it: sent once, told by bare echoes, dropped for people."""

from dataclasses import replace

import pytest

from bot.conversation import Conversation, Enclosure, Part, PartKind, PartState, Plan, PlanMeta
from bot.incoming.events import Channel, Contact, Deletion, Echo
from bot.outcome import Outcome
from bot.reply.layout import arrange
from bot.reply.rich_content import Link, RichContent
from runtime.clock import now_ms
from runtime.settings import Settings, Shift
from store.scripts import Scripts
from store.turns.decisions import AlreadyIn, MaySend, Planned, SendAnswer
from store.turns.lease import Lease
from store.turns.plans import PLAIN, read_plan
from tests.store.turns.takeover.bench import CONTACT, Bench, human, message

pytestmark = pytest.mark.anyio

LINK = Link("Каталог", "https://shop.example/p/101")
PHOTO = "https://shop.example/a.jpg"
IMAGE = Enclosure(PartKind.IMAGE, f"Кружка: {PHOTO}", PHOTO)
REACTION = Enclosure(PartKind.REACTION, "❤", "m1")
BARE_WITHIN_MS = 60_000


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = settings.config.model_copy(update={"shift": Shift(takeover_minutes=60, ignore_auto_replies_seconds=0)})
    return settings.model_copy(update={"config": config})


@pytest.fixture
def bench(scripts: Scripts, settings: Settings) -> Bench:
    return Bench(scripts, settings)


def photo(mid: str, *, kind: str = "image", contact: Contact = CONTACT, number: int = 1) -> Echo:
    return Echo(contact, mid, now_ms(), notes=("[photo]",) * number, attached=(kind,) * number)


async def planned(bench: Bench, *enclosures: Enclosure, links: tuple[Link, ...] = ()) -> tuple[Lease, Plan]:
    await bench.receive(message("m1"))
    lease, conversation = await bench.claim()
    reply = arrange("Ответ", RichContent(links=links), channel=Channel.INSTAGRAM, has_buttons=False)
    meta = PlanMeta(link_buttons=reply.links)
    assert isinstance(await lease.plan(conversation, reply.texts, meta, enclosures=enclosures), Planned)
    return lease, plan_of(await lease.reread())


def plan_of(conversation: Conversation) -> Plan:
    assert conversation.plan is not None
    return conversation.plan


async def begin(lease: Lease, plan: Plan, part: int) -> SendAnswer:
    return await lease.begin_part(plan.id, part, margin_seconds=1)


async def said(bench: Bench, lease: Lease, plan: Plan) -> None:
    """The words have arrived."""
    assert await begin(lease, plan, 0) == MaySend()
    await bench.record(plan.id, 0, PartState.SENT, "our-words")


async def test_a_plan_is_read_as_it_was_written(bench: Bench) -> None:
    _, plan = await planned(bench, IMAGE, REACTION, links=(LINK,))

    assert plan.parts == (Part(0, f"Ответ\n\n{LINK}", PartState.PLANNED, words="Ответ", links=(LINK,)),)
    assert plan.enclosures == (
        Part(1, IMAGE.text, PartState.PLANNED, kind=PartKind.IMAGE, target=PHOTO),
        Part(2, "❤", PartState.PLANNED, kind=PartKind.REACTION, target="m1"),
    )


def test_a_plan_of_an_older_version_is_read() -> None:
    plan = read_plan({"id": "p", "n": "1", "keys": "k", "0:text": "Ответ", "0:state": "sent", "meta": '{"why": "x"}'})

    assert plan == Plan("p", ("k",), (Part(0, "Ответ", PartState.SENT),), PlanMeta(why="x"))


def test_what_a_newer_version_encloses_is_left_out() -> None:
    fields = {"id": "p", "n": "1", "all": "3", "keys": "k", "0:text": "Ответ", "0:state": "sent"}
    film = {"1:kind": "hologram", "1:text": "x", "1:state": "planned", "2:text": "no kind", "2:state": "planned"}

    plan = read_plan({**fields, **film, "meta": '{"links": "", "smell": "roses"}'})

    assert plan is not None
    assert plan.enclosures == ()


async def test_a_bare_echo_is_ours_while_a_picture_is_on_its_way(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)

    await bench.receive(photo("our-photo"))

    assert await bench.field("takeover_until") == ""
    assert await bench.parts() == ["sent"]
    assert plan_of(await lease.reread()).enclosures[0].state is PartState.SENT
    await bench.record(plan.id, 1, PartState.UNKNOWN)
    assert plan_of(await lease.reread()).enclosures[0].state is PartState.SENT


@pytest.mark.parametrize(
    "echo",
    [
        photo("h1", kind="video"),
        photo("h1", number=2),
        human("h1"),
        Echo(CONTACT, "h1", 1, "см. фото", attached=("image",)),
    ],
)
async def test_another_echo_is_a_humans_meanwhile(bench: Bench, echo: Echo) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)

    await bench.receive(replace(echo, at_ms=now_ms()))  # before the customer's words it could be an ad's greeting

    assert await bench.field("takeover_until") != ""


@pytest.mark.parametrize("moment", ["before", "planned", "sent", "after"])
async def test_a_photo_from_the_phone_is_a_takeover_at_any_other_moment(bench: Bench, moment: str) -> None:
    await bench.receive(message("m0"))
    if moment == "before":
        await bench.receive(photo("h1"))
        assert await bench.field("takeover_until") != ""
        return
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    if moment in ("sent", "after"):
        await begin(lease, plan, 1)
        await bench.record(plan.id, 1, PartState.SENT, "our-photo")
    if moment == "after":
        await lease.finish(Outcome.ANSWERED, plan.keys)

    await bench.receive(photo("our-photo") if moment != "planned" else photo("h1"), photo("h2"))

    assert await bench.field("takeover_until") != ""
    assert [line for line in await bench.history() if line[0] == "business"][-1] == ("business", "[photo]")


async def test_a_template_is_known_by_an_echo_with_its_words_or_without(bench: Bench) -> None:
    for number, echo in enumerate([photo("e0", kind="template"), human("e1", "Ответ")]):
        await bench.scripts.client.flushall()
        lease, plan = await planned(bench, links=(LINK,))
        await begin(lease, plan, 0)

        await bench.receive(echo)

        assert await bench.parts() == ["sent"], number
        assert await bench.field("takeover_until") == ""


async def test_the_late_echo_of_a_doubtful_picture_is_ours_once_and_for_a_minute(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)
    await bench.record(plan.id, 1, PartState.UNKNOWN)
    await lease.finish(Outcome.ANSWERED, plan.keys)

    await bench.receive(photo("late"))
    assert await bench.field("takeover_until") == ""

    await bench.receive(photo("h1"))
    assert await bench.field("takeover_until") != ""


async def test_after_a_minute_a_photo_is_a_humans_whatever_was_doubtful(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)
    await lease.finish(Outcome.ANSWERED, plan.keys)
    maybe = f"ns:c:{CONTACT.conversation_id}:maybe"
    doubted_at = float(await bench.scripts.command("ZSCORE", maybe, "@image"))
    await bench.scripts.command("ZADD", maybe, doubted_at - BARE_WITHIN_MS - 1, "@image")

    await bench.receive(photo("h1"))

    assert await bench.field("takeover_until") != ""


async def test_a_picture_begun_by_a_vanished_worker_is_never_begun_again(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    assert await begin(lease, plan, 1) == MaySend()

    assert await begin(lease, plan, 1) == AlreadyIn(PartState.UNKNOWN)


async def test_a_refused_picture_is_begun_again_as_text_and_stays_so(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)

    await bench.conversations.record(CONTACT.conversation_id, plan.id, 1, PartState.FAILED, code=PLAIN)
    assert await begin(lease, plan, 1) == MaySend()
    await bench.conversations.record(CONTACT.conversation_id, plan.id, 1, PartState.FAILED, code="Throttled")

    [image] = plan_of(await lease.reread()).enclosures
    assert (image.plain, image.code, image.tries) == (True, "Throttled", 2)


async def test_a_human_drops_what_has_not_gone(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE, REACTION)
    await said(bench, lease, plan)

    await bench.receive(human("h1"))

    assert await begin(lease, plan, 1) == AlreadyIn(PartState.DROPPED)
    assert [part.state for part in plan_of(await lease.reread()).enclosures] == [PartState.DROPPED] * 2


async def test_an_echo_that_meta_changed_gives_the_pictures_back(bench: Bench) -> None:
    lease, plan = await planned(bench, IMAGE, REACTION)
    await said(bench, lease, plan)
    await begin(lease, plan, 1)
    await bench.receive(photo("our-photo", kind="media"))
    assert await bench.field("takeover_until") != ""

    await bench.record(plan.id, 1, PartState.SENT, "our-photo")

    assert await bench.field("takeover_until") == ""
    assert await begin(lease, plan, 2) == MaySend()


async def test_what_the_customer_took_back_gets_no_reaction(bench: Bench) -> None:
    lease, plan = await planned(bench, REACTION)
    await said(bench, lease, plan)

    await bench.receive(Deletion(CONTACT, "m1", now_ms()))

    assert await begin(lease, plan, 1) == AlreadyIn(PartState.DROPPED)


def test_what_an_older_version_has_packed_into_strings_is_read() -> None:
    meta = '{"notebook": "search x", "buttons": "Да|Нет", "links": "Каталог|https://shop.example/p/101"}'
    fields = {"id": "p", "n": "1", "keys": "k", "0:text": f"Ответ\n\n{LINK}", "0:state": "unknown", "meta": meta}

    plan = read_plan(fields | {"0:code": "looks 1 2"})

    assert plan is not None
    assert plan.meta == PlanMeta(scratchpad="search x", quick_replies=("Да", "Нет"), link_buttons=(LINK,))
    [part] = plan.parts
    assert (part.words, part.links, part.misses, part.failed_looks) == ("Ответ", (LINK,), 1, 2)
