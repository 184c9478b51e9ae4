"""Whether an unknown send has arrived: what is read back may also be somebody else's."""

import pytest

from bot.conversation import Conversation, OpenMessage, Part, PartState, Plan
from bot.incoming.events import Contact
from clients.graph.api import GraphAPI
from runtime.clock import now_ms
from store.turns.conversations import Conversations
from tests.worker.reading_bench import INSTAGRAM, ReadingBench
from worker.delivery.settling import Found, LookAgain, NotSent, Settlement, Settler

pytestmark = pytest.mark.anyio

WORDS = "Вот каталог.\nКаталог: https://shop.example/a"
CONTACT = Contact(INSTAGRAM.channel, INSTAGRAM.id, "9001000000000123")


class Known(Conversations):
    """The books: one message id is in them."""

    def __init__(self, bench: ReadingBench, known: str) -> None:
        super().__init__(bench.scripts, bench.settings)
        self._known = known

    async def knows_as_sent(self, conversation_id: str, mid: str) -> bool:
        return mid == self._known


@pytest.fixture
def bench(reading_bench: ReadingBench) -> ReadingBench:
    reading_bench.meta.set_limits()
    return reading_bench


@pytest.fixture
def graph(bench: ReadingBench) -> GraphAPI:
    return GraphAPI(bench.http, account=INSTAGRAM, env=bench.settings.env)


async def settle(
    bench: ReadingBench,
    *,
    known: str = "",
    words: str = "Вот каталог.",
    misses: int = 0,
    sent_seconds_ago: float = 1,
    asked_seconds_ago: float = 0,
) -> Settlement:
    """Of a part that is a text, or with `words` a template."""
    now = now_ms()
    sending_at_ms = now - round(sent_seconds_ago * 1000)
    part = Part(0, WORDS, PartState.UNKNOWN, sending_at_ms=sending_at_ms, misses=misses, words=words)
    asked: tuple[OpenMessage, ...] = ()
    plan = None
    if asked_seconds_ago:
        asked = (OpenMessage("key", "mid", now - round(asked_seconds_ago * 1000), now),)
        plan = Plan("plan", ("key",), (part,))
    server_ms = max(now, part.sending_at_ms)
    conversation = Conversation(CONTACT.conversation_id, CONTACT, "1", asked, (), plan, server_ms)
    return await Settler(bench.reading, Known(bench, known), INSTAGRAM).look_up(conversation, part)


async def picture(graph: GraphAPI) -> str:
    return (await graph.send_image(CONTACT.customer_id, "https://cdn.example.invalid/cup.jpg")).mid


async def test_a_picture_that_is_in_the_books_proves_no_template(bench: ReadingBench, graph: GraphAPI) -> None:
    mid = await picture(graph)  # ours of the turn before, or one whose echo has come

    assert isinstance(await settle(bench, known=mid), LookAgain)
    assert await settle(bench, known=mid, misses=1, sent_seconds_ago=11) == NotSent()


async def test_a_message_without_words_that_nobody_has_told_of_is_the_template(
    bench: ReadingBench, graph: GraphAPI
) -> None:
    mid = await picture(graph)

    assert await settle(bench) == Found(mid)


async def test_a_template_is_known_by_its_words(bench: ReadingBench, graph: GraphAPI) -> None:
    mid = (await graph.send_text(CONTACT.customer_id, "Вот каталог.")).mid

    assert await settle(bench, known=mid) == Found(mid)


async def test_a_text_is_not_proved_by_a_picture(bench: ReadingBench, graph: GraphAPI) -> None:
    await picture(graph)

    assert isinstance(await settle(bench, words=""), LookAgain)


async def test_words_that_arrived_are_found_though_our_clock_is_an_hour_ahead(
    bench: ReadingBench, graph: GraphAPI
) -> None:
    """By our clock they are older than the call that sent them; by Meta's they are younger than the question."""
    mid = (await graph.send_text(CONTACT.customer_id, WORDS)).mid

    assert await settle(bench, words="", sent_seconds_ago=-3600, asked_seconds_ago=5) == Found(mid)


async def test_the_same_words_of_another_turn_prove_nothing(bench: ReadingBench, graph: GraphAPI) -> None:
    mid = (await graph.send_text(CONTACT.customer_id, WORDS)).mid

    known = await settle(bench, words="", known=mid, sent_seconds_ago=-3600, asked_seconds_ago=5)
    older = await settle(bench, words="", sent_seconds_ago=-3600, asked_seconds_ago=-60)

    assert isinstance(known, LookAgain)
    assert isinstance(older, LookAgain)
