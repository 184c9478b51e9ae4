"""Customers and managers, as Meta tells of them: their doings become signed webhooks to us."""

import secrets
from collections.abc import Sequence
from typing import Any

from runtime.settings import Account
from sandbox.meta import webhooks as meta_webhooks
from sandbox.meta.delivery import Delivery
from sandbox.meta.store import MetaStore
from sandbox.meta.webhooks import WebhookItem


class People(Delivery):
    """`text`, `attachment`, `postback`, `human` (a manager's own answer) and `read` make items, `deliver` sends them.

    They concern the first account unless one is named, and happen now unless `at_ms` is given.
    """

    def __init__(self, accounts: list[Account], store: MetaStore, *, webhook_url: str, app_secret: str) -> None:
        super().__init__(store, webhook_url=webhook_url, app_secret=app_secret)
        self.accounts = accounts

    def account(self, channel: str | None = None, account_id: str | None = None) -> Account:
        """The first account, of a channel or with an id if one is named."""
        return next(a for a in self.accounts if channel in {None, a.channel.value} and account_id in {None, a.id})

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
        """A customer comments on a post; the comment may be answered privately once."""
        owner = account or self.account()
        comment_id = comment_id or f"179{secrets.randbelow(10**14):014d}"
        self.store.comments[comment_id] = customer_id
        return meta_webhooks.comment_item(
            owner, customer_id, text=text, comment_id=comment_id, **{"at_ms": self._now_ms()} | more
        )

    def ghost_edit(self, customer_id: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.ghost_edit_item(account or self.account(), customer_id, **{"at_ms": self._now_ms()} | more)

    def read(self, customer_id: str, *, account: Account | None = None, **more: Any) -> WebhookItem:
        return meta_webhooks.read_item(account or self.account(), customer_id, **{"at_ms": self._now_ms()} | more)

    def crowd(
        self, customer_ids: Sequence[str], events: int, *, account: Account | None = None, text: str = "Вопрос"
    ) -> list[WebhookItem]:
        """So many messages, the customers taking turns, each message numbered and a millisecond after the last."""
        started = self._now_ms()
        return [
            self.text(
                customer_ids[number % len(customer_ids)],
                f"{text} {number}",
                account=account,
                at_ms=started + number,
            )
            for number in range(events)
        ]
