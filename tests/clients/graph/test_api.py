import json
import logging

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse

from clients.graph.api import GraphAPI
from clients.graph.errors import (
    BadContent,
    GraphAPIError,
    SendOutcomeUnknown,
    TokenInvalid,
)
from runtime.settings import Account
from tests.clients.graph.calls import (
    CUSTOMER,
    FLAVOURS,
    INSTAGRAM,
    INSTAGRAM_LOGIN,
    MESSENGER,
    PAGE,
    TOKEN,
    Meta,
    Recorder,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("account", FLAVOURS)
async def test_a_message_is_sent_in_every_flavour(meta: Meta, http: httpx.AsyncClient, account: Account) -> None:
    meta.sandbox.accounts = [account]

    answer = await GraphAPI(http, account=account, env=meta.env).send_text(CUSTOMER, "Да, две остались 🚀")

    (sent,) = meta.sandbox.sent
    assert (sent["to"], sent["text"], sent["mid"]) == (CUSTOMER, "Да, две остались 🚀", answer.mid)
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
