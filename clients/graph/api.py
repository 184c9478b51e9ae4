"""Speaks to Meta for one account: sends words and signs of life, reads back what arrived, looks up who writes."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from bot.errors import Refused
from bot.incoming.events import Channel
from bot.reply.rich_content import Link
from clients.graph.answers import PrivateReply, Profile, Sent, rows_of, text_of
from clients.graph.errors import BadContent, GraphAPIError, SendOutcomeUnknown
from clients.graph.http import GraphHTTP
from clients.graph.messages import file_message, image_message, template_message, text_message
from runtime.settings import Account, Environment
from store.accounts.ids import AccountIds


class GraphAPI:
    """The Send, Conversations and User Profile APIs in the flavour of `account`.

    Every failure is a `GraphAPIError` whose kind says what may be done; nothing here tries twice.
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
        self._account = account
        self._on_messenger = account.channel == Channel.MESSENGER
        self._instagram_login = not self._on_messenger and account.login == "instagram"
        host = env.instagram_api_url if self._instagram_login else env.graph_api_url
        self._http = GraphHTTP(
            http,
            root=f"{host.rstrip('/')}/{env.graph_api_version.strip('/')}",
            account=account,
            timeout_seconds=timeout_seconds,
            connect_seconds=connect_seconds,
        )
        if self._instagram_login:
            self._owner = account.user_id or account.id or "me"
        elif self._on_messenger:
            self._owner = account.page_id or account.id or "me"
        else:
            self._owner = account.page_id or "me"

    async def send_text(
        self,
        to: str,
        text: str,
        *,
        metadata: str | None = None,
        buttons: Sequence[str] = (),
        links: Sequence[Link] = (),
    ) -> Sent:
        """Send `text` to a customer.

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

    async def send_image(self, to: str, url: str, *, metadata: str | None = None) -> Sent:
        """Send the picture at `url`, which Meta fetches by itself within ten seconds."""
        return await self._send(to, image_message(url, on_messenger=self._on_messenger), metadata)

    async def send_file(self, to: str, url: str, *, metadata: str | None = None) -> Sent:
        """Send the file at `url`; Instagram takes PDF only."""
        return await self._send(to, file_message(url), metadata)

    async def _send(self, to: str, message: dict[str, Any], metadata: str | None) -> Sent:
        if metadata and self._on_messenger:
            message["metadata"] = metadata
        body: dict[str, Any] = {"recipient": _recipient(to), "message": message}
        if not self._instagram_login:
            body["messaging_type"] = "RESPONSE"
        answer = await self._http.call("POST", f"{self._owner}/messages", body=body)
        mid = answer.body.get("message_id")
        if isinstance(mid, str) and mid.strip():
            return Sent(mid, answer.usage_percent)
        raise SendOutcomeUnknown("accepted without a message id", answer.status)

    async def send_private_reply(self, comment_id: str, text: str) -> PrivateReply:
        """Answer a comment by a message to its author: once for each comment, within seven days of it."""
        body: dict[str, Any] = {"recipient": {"comment_id": comment_id}, "message": {"text": text}}
        if not self._instagram_login:
            body["messaging_type"] = "RESPONSE"
        answer = await self._http.call("POST", f"{self._owner}/messages", body=body)
        mid = text_of(answer.body.get("message_id")).strip()
        if not mid:
            raise SendOutcomeUnknown("accepted without a message id", answer.status)
        return PrivateReply(mid, text_of(answer.body.get("recipient_id")))

    async def send_action(self, to: str, action: str) -> None:
        """Show `typing_on`, `typing_off` or `mark_seen`; decoration, so a caller logs its failure and goes on."""
        body = {"recipient": _recipient(to), "sender_action": action}
        await self._http.call("POST", f"{self._owner}/messages", body=body, harmless=True)

    async def react(self, to: str, mid: str, emoji: str) -> Sent:
        """Put `emoji` to the customer's message `mid`: decoration, as every other action."""
        # Meta's older word for the heart is understood wherever reactions are.
        reaction = "love" if emoji.strip("\ufe0f") == "❤" else emoji
        payload = {"message_id": mid, "reaction": reaction}
        body = {"recipient": _recipient(to), "sender_action": "react", "payload": payload}
        answer = await self._http.call("POST", f"{self._owner}/messages", body=body, harmless=True)
        return Sent("", answer.usage_percent)

    async def fetch_profile(self, customer_id: str) -> Profile:
        """Who the customer is. No consent, no access or no such person is an empty profile and no error."""
        fields = "id,name,first_name,last_name" if self._on_messenger else "name,username"
        try:
            _, answer, _ = await self._http.call(
                "GET", quote(customer_id, safe=""), query={"fields": fields}, harmless=True
            )
        except GraphAPIError as exc:
            if isinstance(exc, Refused):
                return Profile()
            raise
        first_and_last = f"{text_of(answer.get('first_name'))} {text_of(answer.get('last_name'))}"
        return Profile((text_of(answer.get("name")) or first_and_last).strip(), text_of(answer.get("username")))

    async def fetch_account_ids(self) -> AccountIds:
        """Whose token this is. Only Instagram Login has two ids; `user_id` is "" where Meta tells none."""
        _, answer, _ = await self._http.call("GET", "me", query={"fields": "id,user_id,username"}, harmless=True)
        rows = rows_of(answer)  # wrapped in `data` in one of Meta's examples, bare in the others
        me = rows[0] if rows else answer
        return AccountIds(text_of(me.get("id")), text_of(me.get("user_id")))

    async def get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Read what the account may see at `path`; "" is the account's own conversations."""
        if not path:
            path, query = f"{self._owner}/conversations", {"platform": self._account.channel.value, **query}
        _, answer, _ = await self._http.call("GET", path, query=query, harmless=True)
        return answer


def _recipient(to: str) -> dict[str, str]:
    """A customer who writes through the plug-in of a site is known by a reference only."""
    kind, is_reference, reference = to.partition("user_ref:")
    return {"user_ref": reference} if is_reference and not kind else {"id": to}
