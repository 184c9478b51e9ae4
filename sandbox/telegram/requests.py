"""What a request to the Bot API says, refused where Telegram would refuse it."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox.telegram.html import UnreadableMarkup, parse_html

MAX_UNITS = 4096


class Refusal(Exception):
    """An answer of Telegram with ok=false."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, description, parameters)
        self.code = code
        self.description = description
        self.parameters = parameters

    def response(self) -> Response:
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = dict(self.parameters)
        return JSONResponse(body, status_code=self.code)


async def arguments_of(request: Request) -> dict[str, str]:
    """Query, form or JSON, as Telegram takes them; values that are not text are JSON."""
    body = await request.body()
    arguments = dict(request.query_params)
    if request.headers.get("content-type", "").startswith("application/json"):
        fields = json.loads(body or b"{}")
        return arguments | {k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
    return arguments | dict(parse_qsl(body.decode(), keep_blank_values=True))


def text_of(arguments: dict[str, str]) -> str:
    source = arguments.get("text", "")
    mode = arguments.get("parse_mode", "")
    if mode.upper() not in {"", "HTML"}:
        raise Refusal(400, "Bad Request: unsupported parse_mode")
    try:
        text = parse_html(source) if mode else source
    except UnreadableMarkup as exc:
        raise Refusal(400, f"Bad Request: {exc}") from exc
    text = text.strip()
    if not text:
        raise Refusal(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > MAX_UNITS:
        raise Refusal(400, "Bad Request: message is too long")
    return text


def buttons_of(arguments: dict[str, str]) -> list[tuple[str, str]]:
    keyboard = json.loads(arguments.get("reply_markup") or "{}").get("inline_keyboard", [])
    buttons = [
        (button["text"], button.get("callback_data", button.get("url", ""))) for row in keyboard for button in row
    ]
    if any(not 1 <= len(data.encode()) <= 64 for _, data in buttons):
        raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    return buttons
