import asyncio
import json
import logging
import pickle
import traceback
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from html import escape

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bot.errors import NeedsOperator, OutcomeUnknown, Refused, Transient
from clients.telegram import client as telegram
from clients.telegram.client import (
    AlertGone,
    AlertOutcomeUnknown,
    AlertRefused,
    TelegramAccessLost,
    TelegramAlerts,
    TelegramFailure,
    TelegramUnavailable,
)
from runtime.masking import know_secrets
from runtime.settings import Environment
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.server import SandboxServer
from sandbox.telegram.server import TelegramSandbox

pytestmark = pytest.mark.anyio

TOKEN = "7000000001:invented-token"
CHAT = "-100500"
LEAVES = [
    leaf
    for leaf in vars(telegram).values()
    if isinstance(leaf, type) and issubclass(leaf, TelegramFailure) and leaf is not TelegramFailure
]


def environment(url: str, *, token: str = TOKEN, chat: str = CHAT) -> Environment:
    return Environment(telegram_api_url=url, telegram_bot_token=SecretStr(token), telegram_chat_id=chat)


@dataclass
class Served:
    sandbox: TelegramSandbox
    url: str


@pytest.fixture
def chat() -> Iterator[Served]:
    sandbox = TelegramSandbox(token=TOKEN, chats=(CHAT,))
    with SandboxServer(sandbox.app) as server:
        yield Served(sandbox, server.url)


@pytest.fixture
async def alerts(chat: Served) -> AsyncIterator[TelegramAlerts]:
    client = TelegramAlerts(environment(chat.url))
    yield client
    await client.aclose()


async def test_an_alert_arrives_with_markup_and_buttons(chat: Served, alerts: TelegramAlerts) -> None:
    html = f"<b>{escape('Ответ <не> ушёл & ждёт')}</b>"

    number = await alerts.send(html, buttons=[("Взять", "take:1f"), ("Вернуть", "back:1f")], silent=True)

    (message,) = chat.sandbox.messages
    assert (str(message["message_id"]), message["chat_id"]) == (number, CHAT)
    assert (message["text"], message["parse_mode"]) == ("Ответ <не> ушёл & ждёт", "HTML")
    assert message["buttons"] == [("Взять", "take:1f"), ("Вернуть", "back:1f")]
    assert message["silent"] is True
    assert chat.sandbox.calls == ["sendMessage"]


async def test_an_alert_is_edited_in_place(chat: Served, alerts: TelegramAlerts) -> None:
    number = await alerts.send("<b>Down</b>", buttons=[("Ack", "a:1")])

    await alerts.edit(number, "<s>Down</s> well again")
    await alerts.edit(number, "<s>Down</s> well again")

    (message,) = chat.sandbox.messages
    assert (message["text"], message["buttons"], message["edits"]) == ("Down well again", [], 1)


async def test_editing_what_is_gone_asks_for_a_new_alert(alerts: TelegramAlerts) -> None:
    with pytest.raises(AlertGone):
        await alerts.edit("404", "well again")


async def test_an_alert_is_not_lost_by_its_markup(chat: Served, alerts: TelegramAlerts) -> None:
    await alerts.send("<b>Price < 5 & <foo> &lt;ok&gt;")

    (message,) = chat.sandbox.messages
    assert (message["text"], message["parse_mode"]) == ("Price < 5 & <foo> <ok>", "")
    assert chat.sandbox.calls == ["sendMessage", "sendMessage"]


async def test_an_edit_is_not_lost_by_its_markup_either(chat: Served, alerts: TelegramAlerts) -> None:
    number = await alerts.send("Down")

    await alerts.edit(number, "<i>Well")

    assert chat.sandbox.messages[0]["text"] == "Well"


@pytest.mark.parametrize("html", [f"<b>{'🚀' * 3000}</b>", f"<b>{'x' * 5000}", "&lt;" * 5000])
async def test_a_text_too_long_is_cut(chat: Served, alerts: TelegramAlerts, html: str) -> None:
    await alerts.send(html)

    text = chat.sandbox.messages[0]["text"]
    assert text.endswith("…")
    assert 4094 <= len(text.encode("utf-16-le")) // 2 <= 4096


@pytest.mark.parametrize("html", ["", "  ", "<b> </b>"])
async def test_a_blank_alert_is_refused_without_a_call(chat: Served, alerts: TelegramAlerts, html: str) -> None:
    with pytest.raises(AlertRefused):
        await alerts.send(html)

    assert chat.sandbox.calls == []


async def test_flood_control_tells_how_long_to_wait(chat: Served, alerts: TelegramAlerts) -> None:
    chat.sandbox.throttle_next(17)

    with pytest.raises(TelegramUnavailable) as caught:
        await alerts.send("Down")

    assert caught.value.retry_after_seconds == 17.0
    assert chat.sandbox.messages == []


@pytest.mark.parametrize(
    ("code", "description", "expected"),
    [
        (400, "Bad Request: something new", AlertRefused),
        (400, "Bad Request: BUTTON_DATA_INVALID", AlertRefused),
        (400, "Bad Request: not enough rights to send text messages to the chat", TelegramAccessLost),
        (400, "Bad Request: chat not found", TelegramAccessLost),
        (401, "Unauthorized", TelegramAccessLost),
        (403, "Forbidden: bot was kicked from the supergroup chat", TelegramAccessLost),
        (409, "Conflict: terminated by other getUpdates request", TelegramUnavailable),
        (500, "Internal Server Error", TelegramUnavailable),
        (502, "Bad Gateway", TelegramUnavailable),
    ],
)
async def test_refusals_are_told_apart(
    chat: Served, alerts: TelegramAlerts, code: int, description: str, expected: type[TelegramFailure]
) -> None:
    chat.sandbox.refuse_next(code, description)

    with pytest.raises(TelegramFailure) as caught:
        await alerts.send("Down")

    assert type(caught.value) is expected


async def test_an_unknown_chat_wants_an_operator(chat: Served) -> None:
    client = TelegramAlerts(environment(chat.url, chat="-1"))

    with pytest.raises(TelegramAccessLost, match="chat not found"):
        await client.send("Down")

    await client.aclose()


async def test_a_moved_chat_is_followed_and_remembered(chat: Served, alerts: TelegramAlerts) -> None:
    chat.sandbox.move_chat(CHAT, "-1009000")

    await alerts.send("First")
    await alerts.send("Second")

    assert [m["chat_id"] for m in chat.sandbox.messages] == ["-1009000", "-1009000"]
    assert alerts.chat_id == "-1009000"
    assert len(chat.sandbox.calls) == 3


async def test_a_chat_that_moves_on_and_on_is_not_followed_for_ever(chat: Served, alerts: TelegramAlerts) -> None:
    chat.sandbox.move_chat(CHAT, "-2")
    chat.sandbox.move_chat("-2", CHAT)

    with pytest.raises(TelegramAccessLost):
        await alerts.send("Down")

    assert len(chat.sandbox.calls) == 2


async def test_a_lost_answer_may_have_arrived(chat: Served, alerts: TelegramAlerts) -> None:
    chat.sandbox.lose_answer_next()

    with pytest.raises(AlertOutcomeUnknown):
        await alerts.send("Down")

    assert len(chat.sandbox.messages) == 1


async def test_a_silent_server_is_given_up(chat: Served) -> None:
    chat.sandbox.hang_next(2 * PATIENCE_SECONDS)
    client = TelegramAlerts(environment(chat.url), timeout_seconds=0.2)

    with pytest.raises(AlertOutcomeUnknown):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await client.send("Down")

    await client.aclose()


async def test_a_refused_connection_never_left() -> None:
    with reserved_port() as port:
        client = TelegramAlerts(environment(f"http://127.0.0.1:{port}"))

        with pytest.raises(TelegramUnavailable):
            await client.send("Down")

        await client.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        Response(b"<html>", media_type="text/html"),
        JSONResponse([]),
        JSONResponse({"ok": True}),
        JSONResponse({"ok": True, "result": None}),
        JSONResponse({"ok": True, "result": {"message_id": 1}}),
    ],
)
async def test_a_success_that_cannot_be_read_may_have_arrived(answer: Response) -> None:
    async def serve(_: Request) -> Response:
        return answer

    with SandboxServer(Starlette(routes=[Route("/{path:path}", serve, methods=["POST"])])) as server:
        client = TelegramAlerts(environment(server.url))
        with pytest.raises(AlertOutcomeUnknown):
            await client.send("Down")
        await client.aclose()


@pytest.mark.parametrize("status", [200, 400, 401, 404, 502])
async def test_the_token_is_in_no_log_and_no_traceback(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """Even where something between us and Telegram repeats the address of the call, which holds the token."""
    caplog.set_level(logging.INFO)

    async def repeat_the_address(request: Request) -> Response:
        return HTMLResponse(f"<h1>cannot serve {request.url}</h1>", status_code=status)

    with SandboxServer(Starlette(routes=[Route("/{path:path}", repeat_the_address, methods=["POST"])])) as server:
        client = TelegramAlerts(environment(server.url))
        with pytest.raises(TelegramFailure) as caught:
            await client.send("Very private words")
        await client.aclose()

    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert TOKEN not in caplog.text + shown + repr(vars(caught.value))
    assert "private words" not in caplog.text


@pytest.mark.parametrize(("token", "chat_id"), [("", CHAT), (TOKEN, ""), (" ", " ")])
def test_without_token_or_chat_there_is_no_client(token: str, chat_id: str) -> None:
    with pytest.raises(TelegramAccessLost, match="TELEGRAM_BOT_TOKEN"):
        TelegramAlerts(environment("http://127.0.0.1:1", token=token, chat=chat_id))


@pytest.mark.parametrize("proxy", ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"])
async def test_no_proxy_of_the_environment_is_used(chat: Served, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv(proxy, "http://127.0.0.1:1")
    client = TelegramAlerts(environment(chat.url))

    await client.send("Down")

    assert len(chat.sandbox.messages) == 1
    await client.aclose()


async def test_a_pressed_button_is_answered(chat: Served, alerts: TelegramAlerts) -> None:
    await alerts.answer_button("cb1", "Взято")
    await alerts.answer_button("cb2")

    assert chat.sandbox.answers == [{"id": "cb1", "text": "Взято"}, {"id": "cb2", "text": ""}]


async def test_a_press_reaches_the_webhook_with_its_secret(chat: Served, alerts: TelegramAlerts) -> None:
    updates: list[tuple[str, dict[str, object]]] = []

    async def webhook(request: Request) -> Response:
        updates.append((request.headers["x-telegram-bot-api-secret-token"], json.loads(await request.body())))
        return Response(status_code=200)

    number = await alerts.send("Down", buttons=[("Ack", "a:1")])
    with SandboxServer(Starlette(routes=[Route("/hook", webhook, methods=["POST"])])) as server:
        chat.sandbox.webhook_url, chat.sandbox.webhook_secret = f"{server.url}/hook", "invented-secret"
        status = await chat.sandbox.press(int(number), "a:1")

    ((secret, update),) = updates
    assert (status, secret) == (200, "invented-secret")
    assert isinstance(update["callback_query"], dict)
    assert update["callback_query"]["data"] == "a:1"


async def test_another_process_scripts_and_reads_the_stand_in(chat: Served, alerts: TelegramAlerts) -> None:
    async with httpx.AsyncClient(base_url=chat.url, trust_env=False) as http:
        await http.post("/_control", json={"do": "throttle_next", "retry_after": 3})
        with pytest.raises(TelegramUnavailable):
            await alerts.send("Down")
        await alerts.send("Down")
        shown = (await http.get("/_messages")).json()

    assert [message["text"] for message in shown["messages"]] == ["Down"]


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_leaf_is_of_one_kind_and_survives_the_way_between_processes(leaf: type[TelegramFailure]) -> None:
    error = leaf("flood control", 3.0) if issubclass(leaf, Transient) else leaf("flood control")

    copy = pickle.loads(pickle.dumps(error))

    assert sum(issubclass(leaf, kind) for kind in (Transient, OutcomeUnknown, NeedsOperator, Refused)) == 1
    assert (type(copy), vars(copy), str(copy)) == (leaf, vars(error), "flood control")


async def test_an_alert_never_tells_a_secret_of_ours(chat: Served, alerts: TelegramAlerts) -> None:
    know_secrets(["invented-key-of-the-model"])
    try:
        await alerts.send("<b>refused</b>: invented-key-of-the-model &amp; more")
    finally:
        know_secrets(())

    assert chat.sandbox.messages[0]["text"] == "refused: [secret] & more"
