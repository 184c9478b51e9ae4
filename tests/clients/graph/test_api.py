import asyncio
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.incoming.events import Channel
from clients.graph.answers import Profile, ReadMessage
from clients.graph.api import GraphAPI
from clients.graph.errors import (
    AccountRestricted,
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    MessagingWindowClosed,
    ObjectMissing,
    PermissionMissing,
    RecipientGone,
    SendOutcomeUnknown,
    ThreadOwnedByAnother,
    Throttled,
    TokenInvalid,
)
from runtime.settings import Account, Environment
from sandbox.meta.server import MetaSandbox
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"
PAGE = "104400000000001"
INSTAGRAM_ID = "17841400000000042"
TOKEN = "invented-token"

MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr(TOKEN))
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id=INSTAGRAM_ID, page_id=PAGE, token=SecretStr(TOKEN))
INSTAGRAM_LOGIN = Account(
    channel=Channel.INSTAGRAM, id="17841400000000077", login="instagram", token=SecretStr("instagram-token")
)
FLAVOURS = [MESSENGER, INSTAGRAM, INSTAGRAM_LOGIN]


@dataclass
class Meta:
    sandbox: MetaSandbox
    env: Environment


@pytest.fixture(scope="module")
def served() -> Iterator[Meta]:
    sandbox = MetaSandbox(FLAVOURS)
    with SandboxServer(sandbox.app) as server:
        yield Meta(sandbox, environment(server.url))


@pytest.fixture
def meta(served: Meta) -> Iterator[Meta]:
    served.sandbox.reset()
    served.sandbox.accounts = list(FLAVOURS)
    yield served
    assert served.sandbox.faults_left() == 0


@dataclass
class Recorder:
    """Answers everything as told, at first with a message id, and keeps what was asked."""

    requests: list[tuple[str, str, dict[str, str], bytes]]
    env: Environment
    answer: Response


@pytest.fixture(scope="module")
def recording() -> Iterator[Recorder]:
    async def serve(request: Request) -> Response:
        record.requests.append((request.method, str(request.url), dict(request.headers), await request.body()))
        return record.answer

    record = Recorder([], environment(""), Response())
    with SandboxServer(Starlette(routes=[Route("/{path:path}", serve, methods=["GET", "POST"])])) as server:
        record.env = environment(f"{server.url}/graph", f"{server.url}/instagram/")
        yield record


@pytest.fixture
def recorder(recording: Recorder) -> Recorder:
    recording.requests.clear()
    recording.answer = JSONResponse({"recipient_id": CUSTOMER, "message_id": "m_1"})
    return recording


def environment(graph: str, instagram: str | None = None) -> Environment:
    return Environment(graph_api_url=graph, instagram_api_url=graph if instagram is None else instagram)


@pytest.mark.parametrize("account", FLAVOURS)
async def test_a_message_is_sent_in_every_flavour(meta: Meta, http: httpx.AsyncClient, account: Account) -> None:
    meta.sandbox.accounts = [account]

    mid = await GraphAPI(http, account=account, env=meta.env).send_text(CUSTOMER, "Да, две остались 🚀")

    (sent,) = meta.sandbox.sent
    assert (sent["to"], sent["text"], sent["mid"]) == (CUSTOMER, "Да, две остались 🚀", mid)
    assert sent["account"] == account.id


async def test_a_visitor_of_a_plug_in_is_reached_by_their_reference(
    recorder: Recorder, http: httpx.AsyncClient
) -> None:
    graph = GraphAPI(http, account=MESSENGER, env=recorder.env)

    await graph.send_text("user_ref:ref-1", "Hi")
    await graph.send_action("user_ref:ref-1", "typing_on")

    assert [json.loads(body)["recipient"] for _, _, _, body in recorder.requests] == [{"user_ref": "ref-1"}] * 2


@pytest.mark.parametrize(
    ("account", "path", "body"),
    [
        (
            MESSENGER,
            f"/graph/v26.0/{PAGE}/messages",
            (
                b'{"recipient":{"id":"9001000000000123"},"message":{"text":"Hi","metadata":"run:1"},'
                b'"messaging_type":"RESPONSE"}'
            ),
        ),
        (
            INSTAGRAM,
            f"/graph/v26.0/{PAGE}/messages",
            b'{"recipient":{"id":"9001000000000123"},"message":{"text":"Hi"},"messaging_type":"RESPONSE"}',
        ),
        (
            INSTAGRAM.model_copy(update={"page_id": None}),
            "/graph/v26.0/me/messages",
            b'{"recipient":{"id":"9001000000000123"},"message":{"text":"Hi"},"messaging_type":"RESPONSE"}',
        ),
        (
            INSTAGRAM_LOGIN,
            "/instagram/v26.0/17841400000000077/messages",
            b'{"recipient":{"id":"9001000000000123"},"message":{"text":"Hi"}}',
        ),
    ],
)
async def test_each_flavour_has_its_host_path_and_body(
    recorder: Recorder, http: httpx.AsyncClient, account: Account, path: str, body: bytes
) -> None:
    await GraphAPI(http, account=account, env=recorder.env).send_text(CUSTOMER, "Hi", metadata="run:1")

    ((method, asked, headers, sent),) = recorder.requests
    assert (method, httpx.URL(asked).raw_path.decode(), sent) == ("POST", path, body)
    assert headers["authorization"] == f"Bearer {account.token.get_secret_value()}"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("action", ["typing_on", "typing_off", "mark_seen"])
@pytest.mark.parametrize("account", FLAVOURS)
async def test_signs_of_life_are_shown(meta: Meta, http: httpx.AsyncClient, account: Account, action: str) -> None:
    await GraphAPI(http, account=account, env=meta.env).send_action(CUSTOMER, action)

    assert [(a["to"], a["action"]) for a in meta.sandbox.actions] == [(CUSTOMER, action)]
    assert meta.sandbox.sent == []


@pytest.mark.parametrize("text", ["", " \n\t", "\u00a0\u2003"])
async def test_blank_text_is_never_sent(recorder: Recorder, http: httpx.AsyncClient, text: str) -> None:
    with pytest.raises(BadContent):
        await GraphAPI(http, account=MESSENGER, env=recorder.env).send_text(CUSTOMER, text)

    assert recorder.requests == []


async def test_half_a_surrogate_pair_is_bad_content(recorder: Recorder, http: httpx.AsyncClient) -> None:
    with pytest.raises(BadContent):
        await GraphAPI(http, account=MESSENGER, env=recorder.env).send_text(CUSTOMER, "so \ud83d")

    assert recorder.requests == []


@pytest.mark.parametrize("token", ["", "  ", "two words", "наш", "line\nbreak"])
async def test_a_token_no_header_can_carry_is_not_tried(
    recorder: Recorder, http: httpx.AsyncClient, token: str
) -> None:
    account = MESSENGER.model_copy(update={"token": SecretStr(token)})

    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=account, env=recorder.env).send_text(CUSTOMER, "Hi")

    assert recorder.requests == []


@pytest.mark.parametrize(
    ("code", "subcode", "status", "expected"),
    [
        (10, 2534022, 403, MessagingWindowClosed),
        (190, 463, 400, TokenInvalid),
        (200, None, 403, PermissionMissing),
        (368, None, 400, AccountRestricted),
        (551, 1545041, 500, RecipientGone),
        (100, 2534037, 400, ThreadOwnedByAnother),
        (100, None, 400, BadContent),
        (2, 1545133, 503, GraphAPIUnavailable),
        (2, None, 503, SendOutcomeUnknown),
        (190, None, 200, TokenInvalid),
        (777, None, 400, SendOutcomeUnknown),
    ],
)
async def test_a_refusal_is_told_apart_by_its_numbers_whatever_the_status(
    meta: Meta, http: httpx.AsyncClient, code: int, subcode: int | None, status: int, expected: type[GraphAPIError]
) -> None:
    meta.sandbox.refuse_next(code, subcode, status)

    with pytest.raises(GraphAPIError) as caught:
        await GraphAPI(http, account=INSTAGRAM_LOGIN, env=meta.env).send_text(CUSTOMER, "Hi")

    assert type(caught.value) is expected
    assert (caught.value.status, caught.value.code, caught.value.subcode) == (status, code, subcode)
    assert caught.value.fbtrace_id == "AInventedTraceId0"
    assert meta.sandbox.sent == []


async def test_what_the_stand_in_refuses_by_itself(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.accounts = [INSTAGRAM]
    graph = GraphAPI(http, account=INSTAGRAM, env=meta.env)
    await graph.send_text(CUSTOMER, "ы" * 500)

    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "ы" * 501)
    with pytest.raises(RecipientGone):
        await graph.send_text(INSTAGRAM_ID, "to myself")
    stranger = INSTAGRAM.model_copy(update={"token": SecretStr("another")})
    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=stranger, env=meta.env).send_text(CUSTOMER, "Hi")
    lost = INSTAGRAM.model_copy(update={"page_id": "104400000000999"})
    with pytest.raises(ObjectMissing):
        await GraphAPI(http, account=lost, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_messenger_counts_utf_16_units(meta: Meta, http: httpx.AsyncClient) -> None:
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)
    meta.sandbox.accounts = [MESSENGER]
    await graph.send_text(CUSTOMER, "🚀" * 1000)

    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "🚀" * 1000 + "!")


@pytest.mark.parametrize("account", FLAVOURS)
async def test_a_closed_window_is_told_apart_from_other_refusals(
    meta: Meta, http: httpx.AsyncClient, account: Account
) -> None:
    meta.sandbox.accounts = [account]
    graph = GraphAPI(http, account=account, env=meta.env)
    meta.sandbox.close_window(CUSTOMER)

    with pytest.raises(MessagingWindowClosed):
        await graph.send_text(CUSTOMER, "Too late.")
    meta.sandbox.customer_wrote(CUSTOMER)
    await graph.send_text(CUSTOMER, "In time.")
    meta.sandbox.customer_wrote(CUSTOMER, time.time() - 24 * 3600 - 1)
    with pytest.raises(MessagingWindowClosed):
        await graph.send_text(CUSTOMER, "A second too late.")

    assert [sent["text"] for sent in meta.sandbox.sent] == ["In time."]


async def test_a_lost_answer_is_an_unknown_outcome(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.lose_answer_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_a_dropped_request_looks_the_same_from_outside(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.drop_before_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert meta.sandbox.sent == []


async def test_a_200_that_is_not_json_is_an_unknown_outcome(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.answer_garbage_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_an_error_behind_which_the_message_arrived_is_unknown(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.refuse_next(1, 1357046, 500, delivered=True)

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"recipient_id": CUSTOMER}),
        JSONResponse({"message_id": ""}),
        JSONResponse({"message_id": " "}),
        JSONResponse({"message_id": None}),
        JSONResponse({"message_id": 5}),
        JSONResponse({"message_id": "m_1", "error": None}),
        JSONResponse(["m_1"]),
        JSONResponse({"message_id": "m_1"}, status_code=302, headers={"location": "/elsewhere"}),
        JSONResponse({"message_id": "m_1"}, status_code=500),
        Response(b"", status_code=204),
        Response(b"\xff\xfe"),
    ],
)
async def test_only_a_message_id_in_a_clean_2xx_is_success(
    recorder: Recorder, http: httpx.AsyncClient, answer: Response
) -> None:
    recorder.answer = answer

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=recorder.env).send_text(CUSTOMER, "Hi")

    assert len(recorder.requests) == 1


async def test_a_silent_server_is_given_up(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.hang_next(2 * PATIENCE_SECONDS)
    graph = GraphAPI(http, account=MESSENGER, env=meta.env, timeout_seconds=0.2)

    with pytest.raises(SendOutcomeUnknown):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await graph.send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_a_refused_connection_never_left(http: httpx.AsyncClient) -> None:
    with reserved_port() as port:
        graph = GraphAPI(http, account=MESSENGER, env=environment(f"http://127.0.0.1:{port}"))

        with pytest.raises(GraphAPIUnavailable):
            await graph.send_text(CUSTOMER, "Hi")


async def test_an_address_that_is_none_never_left(http: httpx.AsyncClient) -> None:
    with pytest.raises(GraphAPIUnavailable):
        await GraphAPI(http, account=MESSENGER, env=environment("graph.example")).send_text(CUSTOMER, "Hi")


async def test_a_cancelled_send_stays_cancelled(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.hang_next(60)
    task = asyncio.create_task(GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi"))
    await asyncio.to_thread(meta.sandbox.wait_for_sent, 1)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_throttling_tells_how_long_to_rest(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.throttle_next(minutes=19)
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)

    with pytest.raises(Throttled) as caught:
        await graph.send_text(CUSTOMER, "Hi")

    assert caught.value.retry_after_seconds == 19 * 60
    assert graph.usage_percent == 100


async def test_the_last_answer_that_told_its_usage_counts(meta: Meta, http: httpx.AsyncClient) -> None:
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)
    assert graph.usage_percent == 0

    meta.sandbox.set_usage(63)
    await graph.send_text(CUSTOMER, "Hi")
    meta.sandbox.set_usage(None)
    await graph.send_text(CUSTOMER, "Hi again")

    assert graph.usage_percent == 63


async def test_a_failed_sign_of_life_is_transient_as_it_does_no_harm(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.lose_answer_next(on="actions")

    with pytest.raises(GraphAPIUnavailable):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_action(CUSTOMER, "typing_on")


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
    mid = await graph.send_text(CUSTOMER, "Yes, two left.")

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


async def test_neither_token_nor_words_are_logged_or_raised(
    meta: Meta, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    meta.sandbox.refuse_next(10, 2018278)
    meta.sandbox.lose_answer_next()
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)
    shown = []

    for _ in range(2):
        with pytest.raises(GraphAPIError) as caught:
            await graph.send_text(CUSTOMER, "Very private words")
        shown.append(f"{caught.value!r} {caught.value.__cause__!r}")

    assert TOKEN not in caplog.text + "".join(shown)
    assert "private words" not in caplog.text + "".join(shown)


@pytest.mark.parametrize("account", FLAVOURS)
async def test_a_comment_is_answered_privately_once(meta: Meta, http: httpx.AsyncClient, account: Account) -> None:
    meta.sandbox.accounts = [account]
    meta.sandbox.comment(CUSTOMER, "Цена?", account=account, comment_id="17900000000000501")
    graph = GraphAPI(http, account=account, env=meta.env)

    sent = await graph.send_private_reply("17900000000000501", "Здравствуйте! Пишем вам в личку.")
    with pytest.raises(BadContent) as again:
        await graph.send_private_reply("17900000000000501", "Здравствуйте! Пишем вам в личку.")

    assert sent.customer_id == CUSTOMER
    assert [message["mid"] for message in meta.sandbox.sent] == [sent.mid]
    assert (again.value.code, again.value.subcode) == (100, 2534025)


async def test_an_answer_to_a_private_reply_without_an_id_is_no_proof(
    recorder: Recorder, http: httpx.AsyncClient
) -> None:
    recorder.answer = JSONResponse({"recipient_id": CUSTOMER})

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=INSTAGRAM, env=recorder.env).send_private_reply("1", "Hi")


@pytest.mark.parametrize("account", FLAVOURS)
async def test_answers_to_tap_go_out_as_quick_replies(meta: Meta, http: httpx.AsyncClient, account: Account) -> None:
    meta.sandbox.accounts = [account]
    graph = GraphAPI(http, account=account, env=meta.env)

    await graph.send_text(CUSTOMER, "Отложить?", buttons=("Да", "Нет"))
    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "Отложить?", buttons=("Да, отложите мне сразу три",))
    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "Отложить?", buttons=[str(n) for n in range(14)])

    assert [message["buttons"] for message in meta.sandbox.sent] == [["Да", "Нет"]]


async def test_a_quick_reply_holds_its_title_as_what_a_tap_says(recorder: Recorder, http: httpx.AsyncClient) -> None:
    await GraphAPI(http, account=INSTAGRAM, env=recorder.env).send_text(CUSTOMER, "Отложить?", buttons=("Да",))

    body = json.loads(recorder.requests[0][3])
    assert body["message"] == {
        "text": "Отложить?",
        "quick_replies": [{"content_type": "text", "title": "Да", "payload": "Да"}],
    }
