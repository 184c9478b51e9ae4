"""Conversations and messages are read back whole, page by page, whatever fields a flavour knows."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from clients.graph.errors import BadContent, MessageUnreadable
from clients.graph.reading import GraphReading
from runtime.settings import Account, Environment
from sandbox.meta.errors import error_body
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

ACCOUNT = Account(
    channel=Channel.INSTAGRAM, id="17841400000000042", page_id="104400000000001", token=SecretStr("insta-token")
)
CUSTOMER = "9001000000000123"
NOW_MS = 1_790_000_100_000


class Picky:
    """A Graph API that knows some fields only, and keeps what it was asked."""

    def __init__(self) -> None:
        self.unknown = ""
        self.asked: list[dict[str, str]] = []
        self.app = Starlette(routes=[Route("/{path:path}", self._serve, methods=["GET"])])

    async def _serve(self, request: Request) -> Response:
        query = dict(request.query_params)
        self.asked.append(query)
        if self.unknown and self.unknown in query["fields"]:
            return JSONResponse(error_body(100), status_code=400)
        parties: dict[str, Any] = {"from": {"id": CUSTOMER}, "to": {"data": [{"id": ACCOUNT.id}]}}
        message = {"id": "a", "created_time": "2026-09-21T14:13:20+0000", **parties, "message": "Привет"}
        if request.url.path.endswith("/conversations"):
            return JSONResponse({"data": [{"id": "t", "messages": {"data": [message]}}]})
        return JSONResponse(message)


@pytest.fixture(scope="module")
def picky_server() -> Iterator[tuple[Picky, str]]:
    picky = Picky()
    with SandboxServer(picky.app) as server:
        yield picky, server.url


@pytest.fixture
def picky(picky_server: tuple[Picky, str]) -> Picky:
    picky_server[0].asked.clear()
    picky_server[0].unknown = ""
    return picky_server[0]


@pytest.fixture(scope="module")
def meta_server() -> Iterator[tuple[MetaSandbox, str]]:
    meta = MetaSandbox([ACCOUNT])
    with SandboxServer(meta.app) as server:
        yield meta, server.url


@pytest.fixture
def meta(meta_server: tuple[MetaSandbox, str]) -> MetaSandbox:
    meta_server[0].reset()
    meta_server[0].set_limits()
    return meta_server[0]


def reading(http: httpx.AsyncClient, url: str) -> GraphReading:
    return GraphReading(GraphAPI(http, account=ACCOUNT, env=Environment(graph_api_url=url)))


async def test_a_field_that_a_flavour_does_not_know_is_left_out_from_then_on(
    http: httpx.AsyncClient, picky: Picky, picky_server: tuple[Picky, str]
) -> None:
    picky.unknown = "story"
    back = reading(http, picky_server[1])

    for _ in range(2):
        found = await back.message("a", now_ms=NOW_MS)
        assert found is not None
        assert found.text == "Привет"
    page = await back.threads(now_ms=NOW_MS)

    assert [message.mid for message in page.threads[0].messages] == ["a"]
    assert ["story" in query["fields"] for query in picky.asked] == [True, False, False, False]


async def test_fields_that_nobody_knows_are_an_error(
    http: httpx.AsyncClient, picky: Picky, picky_server: tuple[Picky, str]
) -> None:
    picky.unknown = "message"

    with pytest.raises(BadContent):
        await reading(http, picky_server[1]).message("a", now_ms=NOW_MS)

    assert len(picky.asked) == 2


async def test_pages_follow_each_other_to_the_end(
    http: httpx.AsyncClient, meta: MetaSandbox, meta_server: tuple[MetaSandbox, str]
) -> None:
    for number in range(25):
        meta.lose(meta.text(f"90010000000{number:05d}", f"Вопрос {number}", at_ms=NOW_MS - number * 1000))
    back, seen, after = reading(http, meta_server[1]), [], ""
    while True:
        page = await back.threads(now_ms=NOW_MS, after=after)
        seen.append([thread.messages[0].text for thread in page.threads])
        after = page.after
        if not after:
            break

    assert [len(texts) for texts in seen] == [10, 10, 5]
    assert seen[0][0] == "Вопрос 0"
    assert seen[2][-1] == "Вопрос 24"


async def test_one_customers_conversation_has_both_sides(
    http: httpx.AsyncClient, meta: MetaSandbox, meta_server: tuple[MetaSandbox, str]
) -> None:
    meta.lose(meta.text(CUSTOMER, "Есть синяя?", at_ms=NOW_MS - 5000), meta.human(CUSTOMER, "Да", at_ms=NOW_MS - 3000))
    back = reading(http, meta_server[1])

    thread = await back.thread_with(CUSTOMER, now_ms=NOW_MS, limit=10)

    assert thread is not None
    assert set(thread.party_ids) == {ACCOUNT.id, CUSTOMER}
    assert [(m.from_id, m.to_ids, m.text, m.created_at_ms) for m in thread.messages] == [
        (ACCOUNT.id, (CUSTOMER,), "Да", NOW_MS - 3000),
        (CUSTOMER, (ACCOUNT.id,), "Есть синяя?", NOW_MS - 5000),
    ]
    assert await back.thread_with("9001000000000999", now_ms=NOW_MS, limit=10) is None


async def test_a_message_past_the_readable_ones_is_refused(
    http: httpx.AsyncClient, meta: MetaSandbox, meta_server: tuple[MetaSandbox, str]
) -> None:
    for number in range(21):
        meta.lose(meta.text(CUSTOMER, f"Вопрос {number}", at_ms=NOW_MS - 60_000 + number, mid=f"m{number}"))
    back = reading(http, meta_server[1])

    with pytest.raises(MessageUnreadable):
        await back.message("m0", now_ms=NOW_MS)
    newest = await back.message("m20", now_ms=NOW_MS)

    assert newest is not None
    assert newest.text == "Вопрос 20"
