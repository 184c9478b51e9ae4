"""Customers and managers, as Meta tells of them: their doings become signed webhooks to us."""

import asyncio
import secrets
from typing import Any

import httpx

from clients.http import make_http_client
from runtime.settings import Account
from sandbox import meta_webhooks
from sandbox.meta_store import MetaStore
from sandbox.meta_webhooks import WebhookItem, sign, webhook_bodies


class People:
    """`text`, `attachment`, `postback`, `human` (a manager's own answer) and `read` make items, `deliver` sends them.

    They concern the first account unless one is named, and happen now unless `at_ms` is given. A webhook that is not
    taken (no 200) is listed in `lost_webhooks`.
    """

    def __init__(self, accounts: list[Account], store: MetaStore, *, webhook_url: str, app_secret: str) -> None:
        super().__init__()
        self.accounts = accounts
        self.store = store
        self.webhook_url = webhook_url
        self.app_secret = app_secret
        self.lost_webhooks: list[bytes] = []

    def account(self, channel: str | None = None) -> Account:
        """The first account, of a channel if one is named."""
        return next(a for a in self.accounts if channel in {None, a.channel.value})

    def text(self, customer_id: str, text: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.message_item(
            account or self.account(), customer_id, text=text, **{"at_ms": self._now_ms()} | more
        )

    def attachment(self, customer_id: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.attachment_item(account or self.account(), customer_id, **{"at_ms": self._now_ms()} | more)

    def postback(self, customer_id: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.postback_item(account or self.account(), customer_id, **{"at_ms": self._now_ms()} | more)

    def human(self, customer_id: str, text: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.human_echo_item(
            account or self.account(), customer_id, text=text, **{"at_ms": self._now_ms()} | more
        )

    def comment(
        self, customer_id: str, text: str, *, account: Account | None = None, comment_id: str = "", **more: Any
    ) -> WebhookItem:
        """Somebody comments on a post; the comment may be answered privately once."""
        owner = account or self.account()
        comment_id = comment_id or f"179{secrets.randbelow(10**14):014d}"
        self.store.comments[comment_id] = customer_id
        return meta_webhooks.comment_item(
            owner, customer_id, text=text, comment_id=comment_id, **{"at_ms": self._now_ms()} | more
        )

    def read(self, customer_id: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.read_item(account or self.account(), customer_id, **{"at_ms": self._now_ms()} | more)

    async def deliver(self, *items: WebhookItem, tries: int = 1) -> list[int]:
        """Post signed webhooks with `items`; the last HTTP status of each POST, 0 where there was no answer."""
        for item in items:
            self.store.note_item(item)
        return [await self._post_webhook(body, tries) for body in webhook_bodies(items, at_ms=self._now_ms())]

    async def _post_webhook(self, body: bytes, tries: int) -> int:
        if not self.webhook_url or not self.app_secret:
            raise RuntimeError("webhooks need webhook_url and app_secret")
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": sign(body, self.app_secret),
        }
        status = 0
        async with make_http_client() as http:
            for number in range(tries):
                if number:
                    await asyncio.sleep(0.1 * 2**number)
                try:
                    async with asyncio.timeout(20):
                        status = (await http.post(self.webhook_url, content=body, headers=headers)).status_code
                except (httpx.TransportError, TimeoutError):
                    status = 0
                if status == 200:
                    return status
        self.lost_webhooks.append(body)
        return status

    def _now_ms(self) -> int:
        return int(self.store.clock() * 1000)
