import json
import logging
import traceback
from html import escape

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clients.telegram.client import (
    AlertGone,
    AlertRefused,
    TelegramAccessLost,
    TelegramAlerts,
    TelegramFailure,
    TelegramUnavailable,
)
from runtime.masking import know_secrets
from sandbox.server import SandboxServer
from tests.clients.telegram.served import CHAT, TOKEN, Served, environment

pytestmark = pytest.mark.anyio


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


async def test_an_alert_never_tells_a_secret_of_ours(chat: Served, alerts: TelegramAlerts) -> None:
    know_secrets(["invented-key-of-the-model"])
    try:
        await alerts.send("<b>refused</b>: invented-key-of-the-model &amp; more")
    finally:
        know_secrets(())

    assert chat.sandbox.messages[0]["text"] == "refused: [secret] & more"
