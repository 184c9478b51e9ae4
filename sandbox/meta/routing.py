"""Who may write in the Meta stand-in: the app that has the thread, of an account that is not blocked.

Each method changes the state and makes the webhook that tells of it; `deliver` sends it.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.incoming.events import Channel
from runtime.settings import Account
from sandbox.meta.callers import Callers
from sandbox.meta.errors import refusal
from sandbox.meta.people import People
from sandbox.meta.webhooks import PAGE_INBOX_APP_ID, WebhookItem

THREAD_CALLS = (
    "pass_thread_control",
    "take_thread_control",
    "request_thread_control",
    "release_thread_control",
    "extend_thread_control",
)
_NOT_THE_OWNER = {Channel.INSTAGRAM: (100, 2534037), Channel.MESSENGER: (10, 2018300)}
_BLOCKED = {"page": (10, 1893063), "policy": (368, None)}
_OWNER_SECONDS = 24 * 3600


class Routing(Callers, People):
    """`app_id` is ours. A thread that no app has taken is open to all; what customers write in a thread of another app
    comes to us in `standby`."""

    app_id: str
    has_routing = True  # without a default app no app can take a thread

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._blocked: dict[tuple[Channel, str], tuple[int, int | None]] = {}

    def pass_thread(
        self, customer_id: str, *, to: str | None = None, account: Account | None = None, metadata: str = ""
    ) -> WebhookItem:
        """An app gives the thread to `to`, which is us unless named."""
        return self._moved("pass_thread_control", account or self.account(), customer_id, to or self.app_id, metadata)

    def take_thread(
        self, customer_id: str, *, by: str = str(PAGE_INBOX_APP_ID), account: Account | None = None, metadata: str = ""
    ) -> WebhookItem:
        """Another app (Meta's own inbox unless named) takes the thread."""
        return self._moved("take_thread_control", account or self.account(), customer_id, by, metadata)

    def release_thread(self, customer_id: str, *, account: Account | None = None) -> WebhookItem:
        """No app has the thread any more."""
        return self._moved("pass_thread_control", account or self.account(), customer_id, "", "")

    def request_thread(
        self,
        customer_id: str,
        *,
        by: str = str(PAGE_INBOX_APP_ID),
        account: Account | None = None,
        metadata: str = "please",
    ) -> WebhookItem:
        """Another app asks us for the thread; nothing changes by that."""
        what = {"requested_owner_app_id": int(by), "metadata": metadata}
        return self._control_item("request_thread_control", account or self.account(), customer_id, what)

    def policy(
        self,
        action: Literal["warning", "block", "unblock"],
        *,
        reason: str = "Too many unsolicited messages",
        account: Account | None = None,
        refused_as: Literal["page", "policy"] = "page",
    ) -> WebhookItem:
        """Meta warns, blocks or unblocks the account; while it is blocked, sends are refused (10/1893063 or 368)."""
        owner = account or self.account()
        key = (owner.channel, owner.id)
        if action == "block":
            self._blocked[key] = _BLOCKED[refused_as]
        elif action == "unblock":
            self._blocked.pop(key, None)
        told = {"action": action} | ({"reason": reason} if action != "unblock" else {})
        item = {"recipient": {"id": owner.id}, "timestamp": self._now_ms(), "policy_enforcement": told}
        return WebhookItem(owner, item)

    def reset_routing(self) -> None:
        self._blocked.clear()
        self.has_routing = True

    def _barred(self, account: Account, customer_id: str) -> Response | None:
        """The refusal of a send that is not ours to make."""
        if blocked := self._blocked.get((account.channel, account.id)):
            return refusal(*blocked)
        if self.store.thread(account, customer_id).owner_app_id not in {"", self.app_id}:
            return refusal(*_NOT_THE_OWNER[account.channel])
        return None

    def _as_told(self, item: WebhookItem) -> WebhookItem:
        """As it comes to us, who may only be listening; a postback has no payload then."""
        content = item.item.get("message") or item.item.get("postback")
        if item.field != "messaging" or not isinstance(content, Mapping):
            return item
        sender, recipient = item.item["sender"], item.item["recipient"]
        customer = recipient if sender.get("id") == item.account.id else sender
        owner = self.store.thread(item.account, customer.get("id", "")).owner_app_id
        if owner in {"", self.app_id}:
            return item
        body = dict(item.item)
        if "postback" in body:
            body["postback"] = {name: value for name, value in content.items() if name != "payload"}
        return replace(item, item=body, field="standby")

    def _moved(self, kind: str, account: Account, customer_id: str, owner: str, metadata: str) -> WebhookItem:
        thread = self.store.thread(account, customer_id)
        what = {
            "previous_owner_app_id": thread.owner_app_id or None,
            "new_owner_app_id": owner or None,
            "metadata": metadata,
        }
        thread.owner_app_id = owner
        return self._control_item(kind, account, customer_id, what)

    def _control_item(self, kind: str, account: Account, customer_id: str, what: dict[str, Any]) -> WebhookItem:
        parties = {"sender": {"id": customer_id}, "recipient": {"id": account.id}, "timestamp": self._now_ms()}
        return WebhookItem(account, {**parties, kind: what})

    # What is served.

    async def _thread_call(self, call: str, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
            customer_id = str(body["recipient"]["id"])
        except (ValueError, TypeError, KeyError):
            return refusal(100, message="(#100) No recipient.id")
        account = self._account_for(request, customer_id)
        if isinstance(account, Response):
            return account
        thread = self.store.thread(account, customer_id)
        mine = thread.owner_app_id in {"", self.app_id}
        if call == "take_thread_control":
            if not self.has_routing:
                return refusal(27)
            thread.owner_app_id = self.app_id
        elif call == "pass_thread_control":
            if not mine:
                return refusal(*_NOT_THE_OWNER[account.channel])
            if not str(body.get("target_app_id") or "").isdecimal():
                return refusal(100, message="(#100) No target_app_id")
            thread.owner_app_id = str(body["target_app_id"])
        elif call == "release_thread_control":
            if not mine:
                return refusal(*_NOT_THE_OWNER[account.channel])
            thread.owner_app_id = ""
        return JSONResponse({"success": True})

    async def _thread_owner(self, request: Request) -> Response:
        customer_id = request.query_params.get("recipient", "")
        account = self._account_for(request, customer_id)
        if isinstance(account, Response):
            return account
        owner = self.store.thread(account, customer_id).owner_app_id
        told = {"app_id": owner, "expiration": self._now_ms() // 1000 + _OWNER_SECONDS} if owner else {}
        return JSONResponse({"data": [{"thread_owner": told}]})
