"""Link buttons, pictures, files and reactions, in every flavour: the bytes we send, and what Meta says to them."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bot.incoming.events import Channel
from bot.reply.layout import arrange, words_on_template
from bot.reply.rich_content import Link, RichContent
from clients.graph.api import GraphAPI
from clients.graph.errors import BadContent, GraphAPIUnavailable, SendOutcomeUnknown
from clients.graph.messages import template_message
from runtime.settings import Environment
from sandbox.meta.content import ContentRefused, check_content
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from tests.clients.graph.calls import CUSTOMER, FLAVOURS, environment

pytestmark = pytest.mark.anyio

LINK = Link("Посмотреть каталог целиком", "https://shop.example/p/101")
PHOTO, PRICES = "https://shop.example/a.jpg", "https://shop.example/prices.pdf"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MetaSandbox, Environment]]:
    sandbox = MetaSandbox(FLAVOURS)
    with SandboxServer(sandbox.app) as server:
        yield sandbox, environment(server.url)


@pytest.fixture
def meta(served: tuple[MetaSandbox, Environment]) -> MetaSandbox:
    served[0].reset()
    return served[0]


@pytest.fixture(params=FLAVOURS, ids=["messenger", "instagram", "instagram_login"])
def graph(
    request: pytest.FixtureRequest,
    meta: MetaSandbox,
    served: tuple[MetaSandbox, Environment],
    http: httpx.AsyncClient,
) -> GraphAPI:
    meta.accounts = [request.param]
    return GraphAPI(http, account=request.param, env=served[1])


def rich_content(meta: MetaSandbox) -> list[dict[str, Any]]:
    plain = {"to", "mid", "at", "account", "channel", "metadata"}
    return [{key: value for key, value in message.items() if key not in plain} for message in meta.sent]


async def test_links_pictures_and_files_arrive_in_every_flavour(graph: GraphAPI, meta: MetaSandbox) -> None:
    sent = [
        await graph.send_text(CUSTOMER, "Вот каталог.", links=[LINK], metadata="ns:p:0"),
        await graph.send_image(CUSTOMER, PHOTO, metadata="ns:p:1"),
        await graph.send_file(CUSTOMER, PRICES, metadata="ns:p:2"),
    ]

    assert [message["mid"] for message in meta.sent] == [answer.mid for answer in sent]
    assert rich_content(meta) == [
        {"text": "Вот каталог.", "links": [{"title": "Посмотреть каталог…", "url": LINK.url}]},
        {"text": "", "image": PHOTO},
        {"text": "", "file": PRICES},
    ]
    on_messenger = meta.accounts[0].channel is Channel.MESSENGER
    assert [m["metadata"] for m in meta.sent] == (["ns:p:0", "ns:p:1", "ns:p:2"] if on_messenger else [None] * 3)


async def test_a_reaction_is_an_action_to_the_customers_message(graph: GraphAPI, meta: MetaSandbox) -> None:
    meta.store.note_item(meta.text(CUSTOMER, "Спасибо!", mid="mid-1"))

    await graph.react(CUSTOMER, "mid-1", "❤️")
    await graph.react(CUSTOMER, "mid-1", "👍🏽")
    with pytest.raises(BadContent):
        await graph.react(CUSTOMER, "no-such-mid", "❤")
    meta.lose_answer_next(on="actions")
    with pytest.raises(GraphAPIUnavailable):  # and no SendOutcomeUnknown: a second one would double nothing
        await graph.react(CUSTOMER, "mid-1", "❤")

    assert [(a["action"], a["message_id"], a["reaction"]) for a in meta.actions] == [
        ("react", "mid-1", "love"),
        ("react", "mid-1", "👍🏽"),
        ("react", "mid-1", "love"),
    ]


async def test_what_meta_cannot_fetch_is_refused_and_a_lost_answer_is_unknown(
    graph: GraphAPI, meta: MetaSandbox
) -> None:
    with pytest.raises(BadContent):
        await graph.send_image(CUSTOMER, "http://127.0.0.1/a.jpg")
    meta.lose_answer_next()
    with pytest.raises(SendOutcomeUnknown):
        await graph.send_image(CUSTOMER, PHOTO)


async def test_a_message_takes_quick_replies_or_links(graph: GraphAPI, meta: MetaSandbox) -> None:
    with pytest.raises(ValueError, match="not both"):
        await graph.send_text(CUSTOMER, "Отложить?", buttons=["Да"], links=[LINK])

    assert meta.sent == []


@pytest.mark.parametrize("channel", list(Channel))
@pytest.mark.parametrize("words", ["Да.", "ы" * 320, "ы" * 640, "Слово. " * 200, "🚀" * 400])
def test_what_we_arrange_meta_takes(channel: Channel, words: str) -> None:
    links = tuple(Link(f"{LINK.title} {n}", f"{LINK.url}?{n}") for n in range(3))

    reply = arrange(words, RichContent(links=links), channel=channel, has_buttons=False)

    for text in reply.texts:
        check_content({"text": text}, channel)
    if reply.links:
        check_content(template_message(words_on_template(reply.texts[-1], reply.links), reply.links), channel)


BUTTON = {"type": "web_url", "title": "Каталог", "url": LINK.url}
QUICK = {"content_type": "text", "title": "Да", "payload": "Да"}
CARD = {"title": "Кружка", "subtitle": "350 мл", "buttons": [BUTTON]}


def template(**changes: Any) -> dict[str, Any]:
    payload = {"template_type": "button", "text": "Вот.", "buttons": [BUTTON], **changes}
    return {"attachment": {"type": "template", "payload": payload}}


def cards(*elements: Any) -> dict[str, Any]:
    return {"attachment": {"type": "template", "payload": {"template_type": "generic", "elements": list(elements)}}}


def media(kind: str, url: Any) -> dict[str, Any]:
    return {"attachment": {"type": kind, "payload": {"url": url}}}


def images(*urls: str) -> dict[str, Any]:
    return {"attachments": [{"type": "image", "payload": {"url": url}} for url in urls]}


IG, FB = [Channel.INSTAGRAM], [Channel.MESSENGER]
BOTH = [*IG, *FB]


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        (BOTH, {"text": "Да", "quick_replies": [QUICK] * 13}),
        (BOTH, template(text="a" * 640, buttons=[BUTTON] * 3)),
        (BOTH, template(buttons=[{"type": "postback", "title": "Да", "payload": "YES"}])),
        (BOTH, cards(*[CARD] * 10)),
        (BOTH, media("file", PRICES)),
        (BOTH, media("audio", "https://shop.example/a.m4a")),
        (FB, media("file", "https://shop.example/a.xlsx")),
        (FB, media("image", PHOTO)),
        (FB, {**media("image", PHOTO), "quick_replies": [QUICK], "metadata": "ns:p:1"}),
        (IG, images(*[PHOTO] * 10)),
        (IG, {"attachment": {"type": "like_heart"}}),
        (IG, {"attachment": {"type": "MEDIA_SHARE", "payload": {"id": "18000000000000777"}}}),
    ],
)
def test_the_stand_in_takes_what_meta_documents(channels: list[Channel], message: dict[str, Any]) -> None:
    for channel in channels:
        check_content(message, channel)


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        (BOTH, {}),
        (BOTH, {"text": " "}),
        (BOTH, {"text": None}),
        (BOTH, {"text": "Да", **media("file", PRICES)}),
        (BOTH, {"text": "Да", "sticker": 1}),
        (BOTH, {"text": "Да", "metadata": "x" * 1000}),
        (BOTH, {"text": "Да", "quick_replies": []}),
        (BOTH, {"text": "Да", "quick_replies": [QUICK] * 14}),
        (BOTH, {"text": "Да", "quick_replies": [{**QUICK, "title": "a" * 21}]}),
        (BOTH, {**template(), "quick_replies": [QUICK]}),
        (IG, {**images(PHOTO), "quick_replies": [QUICK]}),
        (BOTH, template(text="a" * 641)),
        (BOTH, template(text="")),
        (BOTH, template(buttons=[])),
        (BOTH, template(buttons=[BUTTON] * 4)),
        (BOTH, template(buttons=[{**BUTTON, "title": "a" * 21}])),
        (BOTH, template(buttons=[{**BUTTON, "url": "shop.example"}])),
        (BOTH, template(buttons=[{**BUTTON, "url": "https://shop.example/кружка"}])),
        (BOTH, template(buttons=[{"type": "phone", "title": "a"}])),
        (BOTH, template(template_type="list")),
        (BOTH, cards()),
        (BOTH, cards(*[CARD] * 11)),
        (BOTH, cards({"title": "Кружка"})),
        (BOTH, cards({**CARD, "subtitle": "a" * 81})),
        (BOTH, cards({**CARD, "image_url": "a.jpg"})),
        (BOTH, {"attachment": "image"}),
        (BOTH, {"attachment": {"type": "hologram", "payload": {}}}),
        (BOTH, {"attachment": {"type": "file", "payload": "a"}}),
        (BOTH, media("file", None)),
        (BOTH, media("file", "ftp://shop.example/a.pdf")),
        (BOTH, media("file", "http://10.0.0.5/a.pdf")),
        (BOTH, media("file", "http://shop/a.pdf")),
        (BOTH, media("file", "http://[::1/a.pdf")),
        (IG, media("image", PHOTO)),
        (IG, media("file", "https://shop.example/a.xlsx")),
        (IG, images()),
        (IG, images(*[PHOTO] * 11)),
        (IG, images("https://shop.example/a.webp")),
        (IG, {"attachments": [{"type": "file", "payload": {"url": PRICES}}]}),
        (IG, {"attachment": {"type": "MEDIA_SHARE", "payload": {}}}),
        (FB, images(PHOTO)),
    ],
)
def test_the_stand_in_refuses_what_meta_refuses(channels: list[Channel], message: dict[str, Any]) -> None:
    for channel in channels:
        with pytest.raises(ContentRefused) as why:
            check_content(message, channel)
        assert re.search(r"\w", why.value.words)
