"""Brings alerts to the managers' Telegram chat; failures say what may be done, and never show the token."""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import BaseRequest, RequestData

from bot.errors import NeedsOperator, NightshiftError, OutcomeUnknown, Refused, Transient
from clients.http import NEVER_LEFT, make_http_client
from clients.telegram.html import cut_html, cut_text, plain_text
from runtime.masking import mask_known
from runtime.settings import Environment

T = TypeVar("T")

# Telegram's own words for what only a person can mend. Nothing else of a description is repeated in our errors:
# behind a proxy it can hold the address of the call, and the token is in the address.
_OPERATOR_WORDS = (
    "chat not found",
    "chat_write_forbidden",
    "not enough rights",
    "need administrator rights",
    "have no rights",
    "group chat was deactivated",
    "topic_closed",
    "message thread not found",
)
_GONE_WORDS = ("message to edit not found", "message can't be edited", "message_id_invalid")
_REFUSED_WORDS = ("can't parse entities", "message is too long", "text must be non-empty", "message text is empty")
_NOT_MODIFIED = "message is not modified"


class TelegramFailure(NightshiftError):
    """Base of all that a call to Telegram can end in."""


class TelegramUnavailable(TelegramFailure, Transient):
    """Telegram could not be reached, is overloaded, or asks for a pause of `retry_after_seconds`."""


class AlertOutcomeUnknown(TelegramFailure, OutcomeUnknown):
    """It may have been delivered. A doubled alert does less harm than a lost one."""


class TelegramAccessLost(TelegramFailure, NeedsOperator):
    """A wrong token or chat id, or the bot was blocked, removed or is not allowed to write."""


class AlertRefused(TelegramFailure, Refused):
    """Telegram will never take this text."""


class AlertGone(AlertRefused):
    """The message to edit does not exist any more: send a new one."""


class TelegramAlerts:
    """One chat's alerts. Belongs to the event loop of its first call; `aclose()` ends its connections.

    `chat_id` changes when Telegram moves the group to a supergroup: the setting wants changing then, too.
    Raises `TelegramAccessLost` when token or chat id are not set.
    """

    def __init__(self, env: Environment, *, timeout_seconds: float = 10.0, connect_seconds: float = 3.0) -> None:
        token = env.telegram_bot_token.get_secret_value().strip()
        self.chat_id = env.telegram_chat_id.strip()
        if not token or not self.chat_id:
            raise TelegramAccessLost("TELEGRAM_BOT_TOKEN or TELEGRAM_CHAT_ID is not set")
        # Asks the library for durations as timedelta; without it, it warns at every pause Telegram asks for.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        # httpx logs whole addresses at INFO, and the token is part of them; the library logs whole texts at DEBUG.
        for name in ("httpx", "telegram"):
            if logging.getLogger(name).level < logging.WARNING:
                logging.getLogger(name).setLevel(logging.WARNING)
        self._request = _Request(timeout_seconds, connect_seconds)
        self._bot = _Bot(
            token,
            base_url=f"{env.telegram_api_url.rstrip('/')}/bot",
            request=self._request,
            get_updates_request=self._request,
        )

    async def send(self, html: str, *, buttons: Sequence[tuple[str, str]] = (), silent: bool = False) -> str:
        """Send an alert, its values escaped by the caller, and return the message id.

        `buttons` are (label, callback data of at most 64 bytes). Too long a text is cut. Markup that Telegram cannot
        read is sent again as plain text, since an alert must not be lost by its markup.
        """
        keyboard = _keyboard(buttons)

        async def send(text: str, parse_mode: str | None) -> str:
            message = await self._guarded(
                lambda chat_id: self._bot.send_message(
                    chat_id,
                    text,
                    parse_mode=parse_mode,
                    disable_notification=silent,
                    reply_markup=keyboard,
                    link_preview_options=LinkPreviewOptions(is_disabled=True),
                )
            )
            return str(message.message_id)

        return await _html_or_plain(html, send)

    async def edit(self, message_id: str, html: str) -> None:
        """Replace the text and take the buttons away; raise `AlertGone` when there is nothing left to edit."""
        number = int(message_id)

        async def edit(text: str, parse_mode: str | None) -> None:
            try:
                await self._guarded(
                    lambda chat_id: self._bot.edit_message_text(
                        text,
                        chat_id=chat_id,
                        message_id=number,
                        parse_mode=parse_mode,
                        link_preview_options=LinkPreviewOptions(is_disabled=True),
                    )
                )
            except _NotModified:
                return

        await _html_or_plain(html, edit)

    async def answer_button(self, callback_id: str, text: str = "") -> None:
        """End the spinner on a pressed button, with a short notice if there is one."""
        await self._guarded(lambda _: self._bot.answer_callback_query(callback_id, text=text or None))

    async def aclose(self) -> None:
        await self._request.shutdown()

    async def _guarded(self, call: Callable[[str], Awaitable[T]]) -> T:
        """Make the call, in the new chat if the group has moved; turn the library's errors into ours."""
        try:
            try:
                return await call(self.chat_id)
            except ChatMigrated as exc:
                self.chat_id = str(exc.new_chat_id)
                return await call(self.chat_id)
        except TelegramError as exc:
            failure = _failure_from(exc)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            # A success whose body the library cannot read.
            failure = AlertOutcomeUnknown(f"unreadable answer: {type(exc).__name__}")
        # Outside of the handlers, so that the library's words and frames, which know the token, are not chained.
        raise failure


class _NotModified(AlertRefused):
    """The message already reads so."""


class _UnreadableMarkup(AlertRefused):
    """Telegram cannot parse the HTML."""


class _NeverLeft(NetworkError):
    """No byte of the request reached Telegram."""


class _Bot(Bot):
    def __repr__(self) -> str:
        """The library's own shows the token to whatever prints local variables."""
        return "Bot"


class _Request(BaseRequest):
    """The library's requests over our HTTP client, by which lost is told from never left."""

    def __init__(self, timeout_seconds: float, connect_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._timeout = httpx.Timeout(None, connect=connect_seconds, pool=connect_seconds)
        self._http = make_http_client(limit=8)

    @property
    def read_timeout(self) -> float | None:
        return self._timeout_seconds

    async def initialize(self) -> None:
        """Nothing to do: connections open when they are needed."""

    async def shutdown(self) -> None:
        await self._http.aclose()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = None,  # noqa: ARG002 - the library's interface; one deadline covers the whole call
        write_timeout: object = None,  # noqa: ARG002
        connect_timeout: object = None,  # noqa: ARG002
        pool_timeout: object = None,  # noqa: ARG002
    ) -> tuple[int, bytes]:
        data = request_data.json_parameters if request_data else None
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._http.request(method, url, data=data, timeout=self._timeout)
        except NEVER_LEFT as exc:
            raise _NeverLeft(type(exc).__name__) from None
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as exc:
            raise TimedOut(type(exc).__name__) from None
        return response.status_code, response.content

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        """As the library's, but it does not log the body it could not read."""
        try:
            parsed = json.loads(payload)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise TelegramError("Invalid server response")
        return parsed


async def _html_or_plain(html: str, send: Callable[[str, str | None], Awaitable[T]]) -> T:
    html = mask_known(html, "[secret]")  # a reason in an alert may quote another program
    if not plain_text(html).strip():
        raise AlertRefused("blank alert, not sent")
    try:
        return await send(cut_html(html), "HTML")
    except _UnreadableMarkup:
        return await send(cut_text(plain_text(html)), None)


def _failure_from(exc: TelegramError) -> TelegramFailure:
    """Order matters: BadRequest and TimedOut are NetworkErrors to the library."""
    match exc:
        case RetryAfter():
            pause = exc.retry_after
            seconds = pause.total_seconds() if isinstance(pause, timedelta) else float(pause)
            return TelegramUnavailable("flood control", seconds)
        case BadRequest():
            return _failure_from_words(exc.message.lower())
        case Forbidden():
            return TelegramAccessLost("the bot may not write to this chat (403)")
        case InvalidToken():
            return TelegramAccessLost("Telegram does not know this token (401 or 404)")
        case ChatMigrated():
            return TelegramAccessLost("the chat moved twice")
        case TimedOut():
            return AlertOutcomeUnknown(f"no answer: {exc.message}")
        case _NeverLeft():
            return TelegramUnavailable(f"never left: {exc.message}")
        case NetworkError() | Conflict():
            return TelegramUnavailable("Telegram answers with an error of its own")
        case _:
            return AlertOutcomeUnknown("unreadable answer")


def _failure_from_words(description: str) -> TelegramFailure:
    if _NOT_MODIFIED in description:
        return _NotModified(_NOT_MODIFIED)
    if "can't parse entities" in description:
        return _UnreadableMarkup("can't parse entities")
    for words, kind in (
        (_OPERATOR_WORDS, TelegramAccessLost),
        (_GONE_WORDS, AlertGone),
        (_REFUSED_WORDS, AlertRefused),
    ):
        for known in words:
            if known in description:
                return kind(known)
    return AlertRefused("bad request (400)")


def _keyboard(buttons: Sequence[tuple[str, str]]) -> InlineKeyboardMarkup | None:
    if not buttons:
        return None
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=data) for label, data in buttons]])
