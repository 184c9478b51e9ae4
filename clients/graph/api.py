"""Speaks to Meta for one account: sends words and signs of life, reads back what arrived, looks up who writes."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from bot.errors import OutcomeUnknown, Refused
from bot.incoming.events import Channel
from bot.reply.rich_content import Link
from clients.graph.errors import (
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    MessageUnreadable,
    SendOutcomeUnknown,
    TokenInvalid,
    error_from_body,
)
from clients.graph.messages import file_message, image_message, template_message, text_message
from clients.graph.usage import read_retry_after_seconds, read_usage_percent
from clients.http import NEVER_LEFT
from runtime.settings import Account, Environment
from store.accounts.ids import AccountIds

_DETAILS = "id,message,from,to,created_time"


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One message as Meta keeps it; `created_at_ms` is exact to the second only."""

    id: str
    from_id: str
    to_ids: tuple[str, ...]
    text: str
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Who writes, as far as Meta tells; either may be empty."""

    name: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class PrivateReply:
    """`customer_id` is the author's id in conversations, "" when Meta does not tell."""

    mid: str
    customer_id: str


class GraphAPI:
    """The Send, Conversations and User Profile APIs in the flavour of `account`.

    Every failure is a `GraphAPIError` whose kind says what may be done; nothing here tries twice.
    `usage_percent` is how full the tightest allowance was at the last answer that told.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        account: Account,
        env: Environment,
        timeout_seconds: float = 10.0,
        connect_seconds: float = 3.0,
    ) -> None:
        self._http = http
        self._account = account
        self._on_messenger = account.channel == Channel.MESSENGER
        self._instagram_login = not self._on_messenger and account.login == "instagram"
        host = env.instagram_api_url if self._instagram_login else env.graph_api_url
        self._root = f"{host.rstrip('/')}/{env.graph_api_version.strip('/')}"
        if self._instagram_login:
            self._owner = account.user_id or account.id or "me"
        elif self._on_messenger:
            self._owner = account.page_id or account.id or "me"
        else:
            self._owner = account.page_id or "me"
        self._timeout_seconds = timeout_seconds
        # A connection that is not there yet proves that nothing left, so waiting for it is timed apart.
        self._timeout = httpx.Timeout(None, connect=connect_seconds, pool=connect_seconds)
        self.usage_percent = 0.0

    async def send_text(
        self,
        to: str,
        text: str,
        *,
        metadata: str | None = None,
        buttons: Sequence[str] = (),
        links: Sequence[Link] = (),
    ) -> str:
        """Send `text` to a customer and return Meta's message id, which is the mid of the echo.

        `metadata` comes back in the echo on Messenger; on Instagram it is left out. The text is sent as it is: the
        caller has split it. `buttons` are the titles of quick replies, cut by `bot.reply.quick_replies`; a tap comes
        back as a message of these words. `links` make it a button template, which `bot.reply.layout` has measured.
        Raises ValueError for both at once. It is always a RESPONSE, never tagged, so a closed window refuses it.
        """
        if not text.strip():
            raise BadContent("blank text, not sent")
        if buttons and links:
            raise ValueError("a message takes quick replies or links, not both")
        message = template_message(text, links) if links else text_message(text, buttons)
        return await self._send(to, message, metadata)

    async def send_image(self, to: str, url: str, *, metadata: str | None = None) -> str:
        """Send the picture at `url`, which Meta fetches by itself within ten seconds."""
        return await self._send(to, image_message(url, on_messenger=self._on_messenger), metadata)

    async def send_file(self, to: str, url: str, *, metadata: str | None = None) -> str:
        """Send the file at `url`; Instagram takes PDF only."""
        return await self._send(to, file_message(url), metadata)

    async def _send(self, to: str, message: dict[str, Any], metadata: str | None) -> str:
        if metadata and self._on_messenger:
            message["metadata"] = metadata
        body: dict[str, Any] = {"recipient": _recipient(to), "message": message}
        if not self._instagram_login:
            body["messaging_type"] = "RESPONSE"
        status, answer = await self._call("POST", f"{self._owner}/messages", body=body)
        mid = answer.get("message_id")
        if isinstance(mid, str) and mid.strip():
            return mid
        raise SendOutcomeUnknown("accepted without a message id", status)

    async def send_private_reply(self, comment_id: str, text: str) -> PrivateReply:
        """Answer a comment by a message to its author: once for each comment, within seven days of it."""
        body: dict[str, Any] = {"recipient": {"comment_id": comment_id}, "message": {"text": text}}
        if not self._instagram_login:
            body["messaging_type"] = "RESPONSE"
        status, answer = await self._call("POST", f"{self._owner}/messages", body=body)
        mid = _text(answer.get("message_id")).strip()
        if not mid:
            raise SendOutcomeUnknown("accepted without a message id", status)
        return PrivateReply(mid, _text(answer.get("recipient_id")))

    async def send_action(self, to: str, action: str) -> None:
        """Show `typing_on`, `typing_off` or `mark_seen`; decoration, so a caller logs its failure and goes on."""
        body = {"recipient": _recipient(to), "sender_action": action}
        await self._call("POST", f"{self._owner}/messages", body=body, harmless=True)

    async def react(self, to: str, mid: str, emoji: str) -> None:
        """Put `emoji` to the customer's message `mid`: decoration, as every other action."""
        # Meta's older word for the heart is understood wherever reactions are.
        reaction = "love" if emoji.strip("\ufe0f") == "❤" else emoji
        payload = {"message_id": mid, "reaction": reaction}
        body = {"recipient": _recipient(to), "sender_action": "react", "payload": payload}
        await self._call("POST", f"{self._owner}/messages", body=body, harmless=True)

    async def fetch_recent_messages(
        self,
        customer_id: str,
        limit: int = 5,
        *,
        since_ms: int = 0,
        before_each: Callable[[], Awaitable[None]] | None = None,
    ) -> list[ReadMessage]:
        """The newest messages of the conversation with a customer, of both sides, newest first.

        Where Meta lists bare ids, those from `since_ms` on are read one by one, each after `before_each`: every such
        call counts in its limit.
        """
        query = {
            "platform": self._account.channel.value,
            "user_id": customer_id,
            "fields": f"messages.limit({limit}){{{_DETAILS}}}",
        }
        _, answer = await self._call("GET", f"{self._owner}/conversations", query=query, harmless=True)
        found: list[ReadMessage] = []
        for conversation in _rows(answer):
            for row in _rows(conversation.get("messages")):
                detailed = row
                if "from" not in row:
                    if 0 < _milliseconds(row.get("created_time")) < since_ms:
                        continue
                    if before_each is not None:
                        await before_each()
                    detailed = await self._fetch_details(_text(row.get("id")))
                if message := _read_message(detailed):
                    found.append(message)
        return sorted(found, key=lambda message: message.created_at_ms, reverse=True)[:limit]

    async def fetch_profile(self, customer_id: str) -> Profile:
        """Who the customer is. No consent, no access or no such person is an empty profile and no error."""
        fields = "id,name,first_name,last_name" if self._on_messenger else "name,username"
        try:
            _, answer = await self._call("GET", quote(customer_id, safe=""), query={"fields": fields}, harmless=True)
        except GraphAPIError as exc:
            if isinstance(exc, Refused):
                return Profile()
            raise
        first_and_last = f"{_text(answer.get('first_name'))} {_text(answer.get('last_name'))}"
        return Profile((_text(answer.get("name")) or first_and_last).strip(), _text(answer.get("username")))

    async def fetch_account_ids(self) -> AccountIds:
        """Whose token this is. Only Instagram Login has two ids; `user_id` is "" where Meta tells none."""
        _, answer = await self._call("GET", "me", query={"fields": "id,user_id,username"}, harmless=True)
        rows = _rows(answer)  # wrapped in `data` in one of Meta's examples, bare in the others
        me = rows[0] if rows else answer
        return AccountIds(_text(me.get("id")), _text(me.get("user_id")))

    async def get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Read what the account may see at `path`; "" is the account's own conversations."""
        if not path:
            path, query = f"{self._owner}/conversations", {"platform": self._account.channel.value, **query}
        _, answer = await self._call("GET", path, query=query, harmless=True)
        return answer

    async def _fetch_details(self, mid: str) -> Mapping[str, Any]:
        """Where the list holds bare ids, as documented for Instagram Login, each message is read by itself."""
        try:
            _, answer = await self._call("GET", quote(mid, safe=""), query={"fields": _DETAILS}, harmless=True)
        except MessageUnreadable:
            return {}
        return answer

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        harmless: bool = False,
    ) -> tuple[int, dict[str, Any]]:
        """Make one call; return status and body only of a success.

        `harmless` calls change nothing that a second one would double, so an unknown outcome is merely transient.
        """
        try:
            return await self._attempt(method, path, body, query)
        except OutcomeUnknown as exc:
            if not harmless or not isinstance(exc, GraphAPIError):
                raise
            raise GraphAPIUnavailable(exc.message, exc.status, exc.code, exc.subcode, exc.fbtrace_id) from exc

    async def _attempt(
        self, method: str, path: str, body: object, query: Mapping[str, str] | None
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {self._token()}"}
        content = None
        if body is not None:
            try:
                content = orjson.dumps(body)
            except orjson.JSONEncodeError as exc:
                # Half of a surrogate pair, which a model does write: no JSON holds it.
                raise BadContent("text that cannot be encoded, not sent") from exc
            headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._http.request(
                    method,
                    f"{self._root}/{path}",
                    params=query,
                    content=content,
                    headers=headers,
                    timeout=self._timeout,
                )
        except NEVER_LEFT as exc:
            raise GraphAPIUnavailable(f"never left: {type(exc).__name__}") from exc
        except (httpx.HTTPError, TimeoutError) as exc:
            raise SendOutcomeUnknown(f"no answer: {type(exc).__name__}") from exc
        return self._read(response)

    def _read(self, response: httpx.Response) -> tuple[int, dict[str, Any]]:
        usage = read_usage_percent(response.headers)
        if usage is not None:
            self.usage_percent = usage
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            answer = None
        if response.is_success and isinstance(answer, dict) and "error" not in answer:
            return response.status_code, answer
        raise error_from_body(response.status_code, answer, read_retry_after_seconds(response.headers))

    def _token(self) -> str:
        token = self._account.token.get_secret_value().strip()
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise TokenInvalid("no usable token is set, not called")
        return token


def _recipient(to: str) -> dict[str, str]:
    """Somebody who writes through the plug-in of a site is known by a reference only."""
    kind, is_reference, reference = to.partition("user_ref:")
    return {"user_ref": reference} if is_reference and not kind else {"id": to}


def _read_message(row: Mapping[str, Any]) -> ReadMessage | None:
    sender = row.get("from")
    mid = _text(row.get("id"))
    if not mid or not isinstance(sender, Mapping):
        return None
    return ReadMessage(
        id=mid,
        from_id=_text(sender.get("id")),
        to_ids=tuple(_text(person.get("id")) for person in _rows(row.get("to"))),
        text=_text(row.get("message")),
        created_at_ms=_milliseconds(row.get("created_time")),
    )


def _milliseconds(value: object) -> int:
    """ISO 8601 in practice, Unix seconds by the documentation; 0 when it is neither."""
    if isinstance(value, int | float):
        return int(value * 1000)
    try:
        moment = datetime.fromisoformat(_text(value))
    except ValueError:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _rows(value: object) -> list[Mapping[str, Any]]:
    data = value.get("data") if isinstance(value, Mapping) else None
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


def _text(value: object) -> str:
    """Ids come as strings, in places as numbers; null is nothing."""
    return str(value) if isinstance(value, str | int) else ""
