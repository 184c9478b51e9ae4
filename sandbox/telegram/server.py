"""Telegram's Bot API as a real HTTP server: keeps what a chat shows, refuses what Telegram refuses."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clients.http import make_http_client
from runtime.settings import Environment
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import serve
from sandbox.silence import CutConnection, hang
from sandbox.telegram.faults import Faults
from sandbox.telegram.requests import Refusal, arguments_of, buttons_of, text_of

BOT = {"id": 7000000001, "is_bot": True, "first_name": "Nightshift", "username": "nightshift_demo_bot"}


class TelegramSandbox(Faults):
    """`app` is to be served by `SandboxServer`. Any chat id is good unless `chats` names the known ones.

    `messages` are dicts: chat_id, message_id, text (as read), html (as sent), parse_mode, buttons, silent, edits, at.
    """

    def __init__(
        self,
        *,
        token: str,
        chats: tuple[str, ...] | None = None,
        webhook_url: str = "",
        webhook_secret: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._changed = threading.Condition()
        super().__init__(self._changed)
        self.token = token
        self.chats = chats
        self.webhook_url = webhook_url
        self.webhook_secret = webhook_secret
        self.messages: list[dict[str, Any]] = []
        self.answers: list[dict[str, str]] = []
        self.calls: list[str] = []
        self._clock = clock
        self._moved: dict[str, str] = {}
        self._updates = 0
        self.app = Starlette(
            routes=[
                Route("/_control", self._control, methods=["POST"]),
                Route("/_messages", self._list, methods=["GET"]),
                Route("/{bot}/{method}", self._serve, methods=["GET", "POST"]),
            ]
        )

    def move_chat(self, old: str, new: str) -> None:
        """The group became a supergroup: the old id only tells the new one, and old messages are gone."""
        self._moved[old] = new

    def wait_for_messages(self, count: int, timeout_seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        """Block until the chats show `count` messages; raise TimeoutError when they do not in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.messages) >= count, timeout_seconds):
                raise TimeoutError(f"{len(self.messages)} messages were sent, not {count}")
            return list(self.messages)

    async def press(self, message_id: int, data: str, *, user_id: int = 501, name: str = "Manager") -> int:
        """Press a button as a manager; the HTTP status of the webhook, 0 when it did not answer."""
        message = next(m for m in self.messages if m["message_id"] == message_id)
        self._updates += 1
        update = {
            "update_id": 900000 + self._updates,
            "callback_query": {
                "id": f"cb{self._updates}",
                "from": {"id": user_id, "is_bot": False, "first_name": name},
                "chat_instance": "1",
                "data": data,
                "message": self._as_json(message),
            },
        }
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.webhook_secret} if self.webhook_secret else {}
        async with make_http_client() as http:
            try:
                async with asyncio.timeout(20):
                    return (await http.post(self.webhook_url, json=update, headers=headers)).status_code
            except (httpx.TransportError, TimeoutError):
                return 0

    # What is served.

    async def _serve(self, request: Request) -> Response:
        try:
            self._check_token(request.path_params["bot"])
            arguments = await arguments_of(request)
            method = request.path_params["method"]
            fault = self.take_fault()
            self.calls.append(method)
            if fault is not None and fault.refusal is not None:
                raise fault.refusal
            result = self._result(method, arguments)
        except Refusal as refusal:
            return refusal.response()
        if fault is not None:
            if fault.hang_seconds is not None:
                await hang(request, fault.hang_seconds)
            return CutConnection()
        return JSONResponse({"ok": True, "result": result})

    def _check_token(self, bot: str) -> None:
        token = bot.removeprefix("bot")
        if ":" not in token:
            raise Refusal(404, "Not Found")
        if token != self.token:
            raise Refusal(401, "Unauthorized")

    def _result(self, method: str, arguments: dict[str, str]) -> object:
        match method.lower():
            case "getme":
                return BOT
            case "sendmessage":
                return self._send(arguments)
            case "editmessagetext":
                return self._edit(arguments)
            case "answercallbackquery":
                answer = {"id": arguments.get("callback_query_id", ""), "text": arguments.get("text", "")}
                if len(answer["text"]) > 200:
                    raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
                self.answers.append(answer)
                return True
            case _:
                raise Refusal(404, "Not Found: method not found")

    def _send(self, arguments: dict[str, str]) -> dict[str, Any]:
        chat_id = self._chat(arguments)
        text, buttons = text_of(arguments), buttons_of(arguments)
        with self._changed:
            message = {
                "chat_id": chat_id,
                "message_id": len(self.messages) + 1,
                "text": text,
                "html": arguments["text"],
                "parse_mode": arguments.get("parse_mode", ""),
                "buttons": buttons,
                "silent": arguments.get("disable_notification", "").lower() == "true",
                "edits": 0,
                "at": self._clock(),
            }
            self.messages.append(message)
            self._changed.notify_all()
        return self._as_json(message)

    def _edit(self, arguments: dict[str, str]) -> dict[str, Any]:
        chat_id = self._chat(arguments)
        text, buttons = text_of(arguments), buttons_of(arguments)
        with self._changed:
            for message in self.messages:
                if message["chat_id"] == chat_id and str(message["message_id"]) == arguments.get("message_id"):
                    break
            else:
                raise Refusal(400, "Bad Request: message to edit not found")
            if (message["text"], message["html"], message["buttons"]) == (text, arguments["text"], buttons):
                raise Refusal(
                    400,
                    "Bad Request: message is not modified: specified new message content and reply markup are exactly "
                    "the same as a current content and reply markup of the message",
                )
            message.update(text=text, html=arguments["text"], buttons=buttons, edits=message["edits"] + 1)
            self._changed.notify_all()
        return self._as_json(message) | {"edit_date": int(self._clock())}

    def _chat(self, arguments: dict[str, str]) -> str:
        chat_id = arguments.get("chat_id", "")
        if not chat_id:
            raise Refusal(400, "Bad Request: chat_id is empty")
        if chat_id in self._moved:
            raise Refusal(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": int(self._moved[chat_id])},
            )
        if self.chats is not None and chat_id not in {*self.chats, *self._moved.values()}:
            raise Refusal(400, "Bad Request: chat not found")
        return chat_id

    def _as_json(self, message: Mapping[str, Any]) -> dict[str, Any]:
        number = int(message["chat_id"]) if message["chat_id"].lstrip("-").isdigit() else -1000000000000
        return {
            "message_id": message["message_id"],
            "date": int(message["at"]),
            "chat": {"id": number, "type": "supergroup" if number < 0 else "private", "title": "Managers"},
            "from": BOT,
            "text": message["text"],
        }

    # For other processes.

    async def _list(self, _: Request) -> Response:
        return JSONResponse({"messages": self.messages, "answers": self.answers})

    async def _control(self, request: Request) -> Response:
        """`{"do": "<method>", ...its keyword arguments}`."""
        order = await request.json()
        name = order.pop("do", "")
        if name == "press":
            return JSONResponse({"status": await self.press(**order)})
        if name in {"throttle_next", "refuse_next", "lose_answer_next", "hang_next", "move_chat"}:
            getattr(self, name)(**order)
            return JSONResponse({"done": name})
        return JSONResponse({"unknown": name}, status_code=400)


def make_app() -> Starlette:
    """The stand-in for the bot of the environment, as another process runs it."""
    env = Environment()
    return TelegramSandbox(
        token=env.telegram_bot_token.get_secret_value(),
        webhook_url=f"http://127.0.0.1:{env.port}/webhooks/telegram",
        webhook_secret=env.telegram_webhook_secret.get_secret_value(),
    ).app


if __name__ == "__main__":
    serve(make_app, name="telegram", port=9103)
