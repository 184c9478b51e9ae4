"""Whether an unknown send has arrived: what is read back may also be somebody else's."""

import time
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from bot.conversation import Conversation, OpenMessage, Part, PartState, Plan
from bot.incoming.events import Channel, Contact
from clients.graph.api import GraphAPI
from clients.http import make_http_client
from runtime.settings import Account, Environment
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from worker.delivery.settling import Found, LookAgain, Settlement, look_up

pytestmark = pytest.mark.anyio

ACCOUNT = Account(
    channel=Channel.INSTAGRAM, id="17841400000000042", page_id="104400000000001", token=SecretStr("invented")
)
WORDS = "Вот каталог.\nКаталог: https://shop.example/a"
CONTACT = Contact(ACCOUNT.channel, ACCOUNT.id, "9001000000000123")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[MetaSandbox, SandboxServer]]:
    meta = MetaSandbox([ACCOUNT])
    meta.set_limits()
    with SandboxServer(meta.app) as server:
        yield meta, server


@pytest.fixture
async def graph(server: tuple[MetaSandbox, SandboxServer]) -> AsyncIterator[GraphAPI]:
    server[0].store.reset()
    async with make_http_client() as http:
        yield GraphAPI(http, account=ACCOUNT, env=Environment(graph_api_url=server[1].url))


async def settle(
    graph: GraphAPI,
    *,
    known: str = "",
    words: str = "Вот каталог.",
    code: str = "",
    sent_seconds_ago: float = 1,
    asked_seconds_ago: float = 0,
) -> object:
    """Of a part that is a text, or with `words` a template."""
    now_ms = int(time.time() * 1000)
    part = Part(
        0,
        WORDS,
        PartState.UNKNOWN,
        sending_at_ms=now_ms - round(sent_seconds_ago * 1000),
        code=code,
        words=words,
    )

    async def at_once(_: float) -> None:
        return

    async def is_known(mid: str) -> bool:
        return mid == known

    asked: tuple[OpenMessage, ...] = ()
    plan = None
    if asked_seconds_ago:
        asked = (OpenMessage("key", "mid", now_ms - round(asked_seconds_ago * 1000), now_ms),)
        plan = Plan("plan", ("key",), (part,))
    server_ms = max(now_ms, part.sending_at_ms)
    conversation = Conversation(CONTACT.conversation_id, CONTACT, "1", asked, (), plan, server_ms)
    return await look_up(graph, conversation, part, stand_in_line=at_once, is_known=is_known)


async def picture(graph: GraphAPI) -> str:
    return await graph.send_image(CONTACT.customer_id, "https://cdn.example.invalid/cup.jpg")


async def test_a_picture_that_is_in_the_books_proves_no_template(graph: GraphAPI) -> None:
    mid = await picture(graph)  # ours of the turn before, or one whose echo has come

    assert isinstance(await settle(graph, known=mid), LookAgain)
    assert await settle(graph, known=mid, code="looks 1 0", sent_seconds_ago=11) is Settlement.NOT_SENT


async def test_a_message_without_words_that_nobody_has_told_of_is_the_template(graph: GraphAPI) -> None:
    mid = await picture(graph)

    assert await settle(graph) == Found(mid)


async def test_a_template_is_known_by_its_words(graph: GraphAPI) -> None:
    mid = await graph.send_text(CONTACT.customer_id, "Вот каталог.")

    assert await settle(graph, known=mid) == Found(mid)


async def test_a_text_is_not_proved_by_a_picture(graph: GraphAPI) -> None:
    await picture(graph)

    assert isinstance(await settle(graph, words=""), LookAgain)


async def test_words_that_arrived_are_found_though_our_clock_is_an_hour_ahead(graph: GraphAPI) -> None:
    """By our clock they are older than the call that sent them; by Meta's they are younger than the question."""
    mid = await graph.send_text(CONTACT.customer_id, WORDS)

    assert await settle(graph, words="", sent_seconds_ago=-3600, asked_seconds_ago=5) == Found(mid)


async def test_the_same_words_of_another_turn_prove_nothing(graph: GraphAPI) -> None:
    mid = await graph.send_text(CONTACT.customer_id, WORDS)

    known = await settle(graph, words="", known=mid, sent_seconds_ago=-3600, asked_seconds_ago=5)
    older = await settle(graph, words="", sent_seconds_ago=-3600, asked_seconds_ago=-60)

    assert isinstance(known, LookAgain)
    assert isinstance(older, LookAgain)
