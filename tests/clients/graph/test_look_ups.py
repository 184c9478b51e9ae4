"""What is read from Meta: recent messages, profiles."""

import time

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clients.graph.answers import Profile, ReadMessage
from clients.graph.api import GraphAPI
from clients.graph.errors import (
    GraphAPIUnavailable,
    TokenInvalid,
)
from runtime.settings import Account
from sandbox.server import SandboxServer
from tests.clients.graph.calls import CUSTOMER, FLAVOURS, INSTAGRAM, INSTAGRAM_LOGIN, MESSENGER, Meta, environment

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("account", FLAVOURS)
async def test_recent_messages_of_both_sides_are_read_back(
    meta: Meta, http: httpx.AsyncClient, account: Account
) -> None:
    meta.sandbox.accounts = [account]
    at_ms = int(time.time() * 1000) - 60_000
    meta.sandbox.store.note_item(
        meta.sandbox.text(CUSTOMER, "Is it in stock?", mid="mid-1", at_ms=at_ms, account=account)
    )
    meta.sandbox.store.note_item(meta.sandbox.text("1", "Another customer", account=account))
    meta.sandbox.set_limits()
    graph = GraphAPI(http, account=account, env=meta.env)
    mid = (await graph.send_text(CUSTOMER, "Yes, two left.")).mid

    newest, oldest = await graph.fetch_recent_messages(CUSTOMER)

    assert (newest.id, newest.from_id, newest.to_ids) == (mid, account.id, (CUSTOMER,))
    assert newest.text == "Yes, two left."
    assert abs(newest.created_at_ms - meta.sandbox.sent[0]["at"] * 1000) <= 1000
    assert oldest == ReadMessage("mid-1", CUSTOMER, (account.id,), "Is it in stock?", at_ms // 1000 * 1000)
    assert await graph.fetch_recent_messages(CUSTOMER, limit=1) == [newest]
    assert await graph.fetch_recent_messages("404") == []


async def test_bare_ids_are_read_one_by_one(http: httpx.AsyncClient) -> None:
    async def conversations(_: Request) -> Response:
        rows = [{"id": "a"}, {"id": "gone"}, {"id": "b", "from": {"id": "2"}, "created_time": 1790000009}]
        return JSONResponse({"data": [{"id": "t1", "messages": {"data": rows}}, {"id": "t2"}]})

    async def message(request: Request) -> Response:
        if request.path_params["mid"] == "gone":
            return JSONResponse({"error": {"code": 9000001}}, status_code=400)
        row = {"id": "a", "from": {"id": "1"}, "to": {"data": [{"id": "2"}]}, "message": "Hi"}
        return JSONResponse(row | {"created_time": "2026-11-30T08:59:58+0000"})

    routes = [Route("/v26.0/{owner}/conversations", conversations), Route("/v26.0/{mid}", message)]
    with SandboxServer(Starlette(routes=routes)) as server:
        graph = GraphAPI(http, account=INSTAGRAM_LOGIN, env=environment(server.url))
        found = await graph.fetch_recent_messages(CUSTOMER)

    assert found == [
        ReadMessage("a", "1", ("2",), "Hi", 1796029198000),
        ReadMessage("b", "2", (), "", 1790000009000),
    ]


@pytest.mark.parametrize(
    ("fault", "calls"),
    # aiohttp by itself repeats an idempotent request once when its connection is cut.
    [("lose_answer_next", 2), ("drop_before_next", 2), ("answer_garbage_next", 1)],
)
async def test_a_read_that_fails_can_simply_be_tried_again(
    meta: Meta, http: httpx.AsyncClient, fault: str, calls: int
) -> None:
    getattr(meta.sandbox, fault)(calls, on="reads")

    with pytest.raises(GraphAPIUnavailable):
        await GraphAPI(http, account=MESSENGER, env=meta.env).fetch_recent_messages(CUSTOMER)


@pytest.mark.parametrize(
    ("account", "fields", "expected"),
    [
        (INSTAGRAM, {"name": "Invented Name", "username": "invented"}, Profile("Invented Name", "invented")),
        (INSTAGRAM_LOGIN, {"username": "invented"}, Profile("", "invented")),
        (MESSENGER, {"first_name": "Invented", "last_name": "Name"}, Profile("Invented Name", "")),
        (MESSENGER, {"name": "Invented Name"}, Profile("Invented Name", "")),
        (MESSENGER, {}, Profile()),
    ],
)
async def test_a_profile_is_read_as_far_as_meta_tells_it(
    meta: Meta, http: httpx.AsyncClient, account: Account, fields: dict[str, str], expected: Profile
) -> None:
    meta.sandbox.accounts = [account]
    meta.sandbox.customer_wrote(CUSTOMER)
    meta.sandbox.set_profile(CUSTOMER, **fields)

    assert await GraphAPI(http, account=account, env=meta.env).fetch_profile(CUSTOMER) == expected


async def test_a_profile_meta_keeps_to_itself_is_empty(meta: Meta, http: httpx.AsyncClient) -> None:
    assert await GraphAPI(http, account=MESSENGER, env=meta.env).fetch_profile(CUSTOMER) == Profile()


async def test_a_dead_token_shows_in_a_profile_look_up_too(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.refuse_next(190, 463, on="reads")

    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=MESSENGER, env=meta.env).fetch_profile(CUSTOMER)
