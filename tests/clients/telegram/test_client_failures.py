"""What an alert that was not taken tells: throttled, refused, moved, or unknown."""

import asyncio
import pickle

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.errors import NeedsOperator, OutcomeUnknown, Refused, Transient
from clients.telegram import client as telegram
from clients.telegram.client import (
    AlertOutcomeUnknown,
    AlertRefused,
    TelegramAccessLost,
    TelegramAlerts,
    TelegramFailure,
    TelegramUnavailable,
)
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.server import SandboxServer
from tests.clients.telegram.served import CHAT, Served, environment

pytestmark = pytest.mark.anyio


LEAVES = [
    leaf
    for leaf in vars(telegram).values()
    if isinstance(leaf, type) and issubclass(leaf, TelegramFailure) and leaf is not TelegramFailure
]


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


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_leaf_is_of_one_kind_and_survives_the_way_between_processes(leaf: type[TelegramFailure]) -> None:
    error = leaf("flood control", 3.0) if issubclass(leaf, Transient) else leaf("flood control")

    copy = pickle.loads(pickle.dumps(error))

    assert sum(issubclass(leaf, kind) for kind in (Transient, OutcomeUnknown, NeedsOperator, Refused)) == 1
    assert (type(copy), vars(copy), str(copy)) == (leaf, vars(error), "flood control")
